/** Giving a request an instance, or a place in the queue. */
import { mayTake } from './blame.ts';
import type { Decision } from './changes.ts';
import { waitsForDrill } from './drill.ts';
import type { Instance } from './instance.ts';
import type { Request } from './request.ts';
import { isStandingBy, type State } from './state.ts';
import { isThere, suitedChoices, waitsForUntried } from './suited.ts';
import type { Model, Now } from './types.ts';

/** Gives it a slot of this instance. The change comes first: effects run after the fold. */
export function grant(
  out: Decision,
  request: Request,
  instance: Instance,
  now: Now,
  freshConnection = false,
): void {
  const again = request.phase.phase === 'running';
  if (!again) {
    out.changes.push({
      type: 'request_granted',
      request: request.id,
      instance: instance.id,
      placement: instance.placement,
      at: now.mono,
      wall: now.wall,
    });
  }
  out.effects.push({
    type: 'grant',
    request: request.id,
    instance: instance.id,
    placement: instance.placement,
    attempt: again ? request.attempts : request.attempts + 1,
    queuedMs: now.mono - request.receivedAt,
    reason: request.lastFailure,
    freshConnection,
  });
}

/** A ready instance with a free slot, of the best placement that has one. */
export function freeInstance(state: State, model: Model, request: Request, now: Now): Instance | null {
  if (waitsForDrill(state, request)) return null;
  const order = suitedChoices(state, model, request, now);
  let best: Instance | null = null;
  let bestRank = order.length;
  for (const instance of state.instances.values()) {
    if (instance.model !== model.name || !mayTake(state, request, instance, now)) continue;
    const rank = order.indexOf(instance.placement);
    if (rank >= 0 && rank < bestRank) {
      best = instance;
      bestRank = rank;
    }
  }
  // A standby waits for a failure: what a better placement will take waits for a slot there.
  if (best !== null && isStandingBy(state, best) && isThere(state, model, order.slice(0, bestRank), 'ready'))
    return null;
  return best !== null && waitsForUntried(state, model, request, best.placement, order) ? null : best;
}

/** Back into the queue; not granted before `notBefore` (monotonic ms). */
export function wait(
  out: Decision,
  request: Request,
  notBefore: number,
  head: boolean,
  since = notBefore,
  deadlineAt = request.deadlineAt,
): void {
  out.changes.push({ type: 'request_waits', request: request.id, head, since, notBefore, deadlineAt });
}
