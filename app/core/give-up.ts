/** The end of a search for an instance that found none: wait, or say why not. */
import type { Fit } from './admission.ts';
import type { Decision } from './changes.ts';
import { nextOutage } from './outage.ts';
import { nextRetry } from './placement.ts';
import { isLasting } from './reason.ts';
import { gib, refusal, refuseRequest, tooBig } from './refuse.ts';
import type { Refusal, Request } from './request.ts';
import { loadRefused, type Pursuit } from './starts.ts';
import type { ModelState, State } from './state.ts';
import type { Model, Now } from './types.ts';
import { backInMs, memoryFreeInMs, retrySeconds } from './waits.ts';

/** When memory that something else than a model holds may be free, ms: nobody knows. */
const UNKNOWN_MEMORY_MS = 30_000;

/** No placement can be had now: the request waits for one that may be back in time, else it ends. */
export function giveUp(
  out: Decision,
  state: State,
  model: Model,
  request: Request,
  pursuit: Extract<Pursuit, { kind: 'none' }>,
  now: Now,
): void {
  const shortage = pursuit.shortages.at(-1);
  if (shortage === undefined && mayReturn(state, model, request)) return;
  for (const one of pursuit.shortages) out.facts.push(loadRefused(model.name, one));
  refuseRequest(out, request, whyNot(state, model, pursuit, now));
}

function mayReturn(state: State, model: Model, request: Request): boolean {
  const outages = [...(state.models.get(model.name)?.outages.values() ?? [])];
  const passing = outages.some((outage) => !isLasting(outage.reason));
  return passing && nextRetry(state, model) < request.deadlineAt;
}

function whyNot(state: State, model: Model, pursuit: Extract<Pursuit, { kind: 'none' }>, now: Now): Refusal {
  const shortage = pursuit.shortages.at(-1);
  if (shortage !== undefined) {
    const ms = memoryFreeInMs(state, model.name) ?? UNKNOWN_MEMORY_MS;
    const retryAfter = neverFits(state, shortage.fit) ? null : retrySeconds(ms);
    return refusal('capacity', tooBig(model.name, shortage.fit), retryAfter);
  }
  const [problem] = pursuit.problems;
  if (problem !== undefined) {
    const text = `${problem.text} ${problem.fix}`;
    return problem.model === undefined ? refusal('preparing', text, 10) : refusal('backend_failed', text);
  }
  const retry = nextRetry(state, model);
  if (retry === Number.POSITIVE_INFINITY) {
    return refusal(
      'capacity',
      `${model.name} has no placement that mode ${model.mode} allows on this machine.`,
    );
  }
  const seconds = Math.max(1, Math.ceil((retry - now.mono) / 1000));
  const error = state.models.get(model.name)?.lastError;
  const because = error ? ` The last failure: ${error}` : '';
  return refusal(
    'backend_failed',
    `${model.name} is out of service; tried again in ${seconds} s.${because}`,
    retrySeconds(backInMs(state, model, now) ?? retry - now.mono),
  );
}

/** More than the whole machine could give. */
function neverFits(state: State, fit: Fit): boolean {
  return state.host !== null && fit.need > state.host.memory.total;
}

/** A load that nobody waits for as a request: the command is told, `keepLoaded` is tried again later. */
export function giveUpWish(
  out: Decision,
  state: State,
  model: Model,
  own: ModelState,
  pursuit: Extract<Pursuit, { kind: 'none' }>,
  now: Now,
): void {
  for (const { placement, fit } of pursuit.shortages) {
    const before = own.outages.get(placement);
    const detail = `needs ${gib(fit.need)}, room ${gib(fit.room)}`;
    const failed = { placement, reason: 'does_not_fit', detail } as const;
    const outage = nextOutage(own, now, failed, state.policy?.failover.returnAfterMs ?? 0);
    out.changes.push({ type: 'outage_set', model: model.name, outage });
    if (before === undefined) out.facts.push(loadRefused(model.name, { placement, fit }));
  }
  if (own.wanted === null) return;
  out.changes.push({
    type: 'model_error',
    model: model.name,
    error: whyNot(state, model, pursuit, now).message,
  });
  out.changes.push({ type: 'wanted_set', model: model.name, wanted: null });
}
