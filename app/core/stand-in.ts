/** Of a model that runs on a worse placement because nothing can be begun on a better one. */
import type { Decision } from './changes.ts';
import { isExpected } from './engine-away.ts';
import type { Instance } from './instance.ts';
import { allowedPlacements } from './placement.ts';
import { instancesOf, type Outage, type State } from './state.ts';
import type { Model, Now, Placement, Profile } from './types.ts';

type Hindrance = Pick<Outage, 'reason' | 'detail'>;

/**
 * Rule of `settle`: the better placement counts as out of service, so that it is brought back like any other one when
 * what hinders it is over. It is none of its failures, and no reason to wait longer from time to time.
 */
export function standIn(out: Decision, state: State, now: Now): void {
  for (const model of state.policy?.models.values() ?? []) {
    for (const { placement, hindrance } of hindered(state, model, now)) {
      const retryAt = now.mono + (state.policy?.failover.returnAfterMs ?? 0);
      const outage = { placement, ...hindrance, since: now, retryAt, failures: 0 };
      out.changes.push({ type: 'outage_set', model: model.name, outage });
    }
  }
}

/** Better placements than the one in use that cannot be prepared and that nothing took out of service yet. */
function hindered(
  state: State,
  model: Model,
  now: Now,
): { readonly placement: Placement; readonly hindrance: Hindrance }[] {
  const own = instancesOf(state, model.name).filter(({ phase }) => phase.state !== 'stuck');
  const order = allowedPlacements(model);
  const used = Math.max(...own.filter(isUsed).map(({ placement }) => order.indexOf(placement)));
  return order.slice(0, Math.max(0, used)).flatMap((placement) => {
    const profile = model.profiles[placement];
    const isKnown = state.models.get(model.name)?.outages.has(placement) ?? false;
    if (profile === undefined || isKnown || own.some((one) => one.placement === placement)) return [];
    const hindrance = hindranceOf(state, profile, now);
    return hindrance === null ? [] : [{ placement, hindrance }];
  });
}

function isUsed({ phase }: Instance): boolean {
  return phase.state === 'starting' || phase.state === 'ready';
}

/** Its engine is away, or its file cannot be read. */
function hindranceOf({ engines, needs }: State, { engine, hash }: Profile, now: Now): Hindrance | null {
  const found = engines.get(engine);
  if (found !== undefined && (found.problem !== null || isExpected(found, now.mono)))
    return { reason: 'connection_lost', detail: found.problem?.text ?? null };
  const need = needs.get(hash);
  return need?.kind === 'unknown' ? { reason: 'load_failed', detail: need.problem.text } : null;
}
