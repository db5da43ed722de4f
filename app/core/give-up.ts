/** The end of a search for an instance that found none: wait, or say why not. */
import type { Decision } from './changes.ts';
import { givenUpFor } from './engine-away.ts';
import { missGpu } from './gpu-again.ts';
import { nextOutage } from './outage.ts';
import { isLasting } from './reason.ts';
import { gib, refuseRequest } from './refuse.ts';
import type { Request } from './request.ts';
import { loadRefused, type Pursuit } from './starts.ts';
import type { ModelState, State } from './state.ts';
import { placementsThatFit, readMs, unsuited } from './suited.ts';
import type { Model, Now } from './types.ts';
import { whyNot } from './why-not.ts';

/** No placement can be had now: the request waits for one that may be back in time, else it ends. */
export function giveUp(
  out: Decision,
  state: State,
  model: Model,
  request: Request,
  pursuit: Extract<Pursuit, { kind: 'none' }>,
  now: Now,
): void {
  if (mayReturn(state, model, request, now)) return;
  for (const one of pursuit.shortages) out.facts.push(loadRefused(model.name, one));
  missGpu(out, model);
  refuseRequest(out, request, whyNot(state, model, request, pursuit, now));
}

/** A placement that is out of service for a passing reason may be back before the request's time is over. */
function mayReturn(state: State, model: Model, request: Request, now: Now): boolean {
  const own = state.models.get(model.name);
  return placementsThatFit(model, request).some((placement) => {
    const outage = own?.outages.get(placement);
    if (outage === undefined || isLasting(outage.reason)) return false;
    const engine = state.engines.get(model.profiles[placement]?.engine ?? '');
    if (givenUpFor(engine, now.mono) !== null) return false;
    if (unsuited(state, model, request, placement, now) !== null) return false;
    const load = (own?.loadSeconds[placement] ?? 0) * 1000;
    const read = request.ownDeadline ? (readMs(state, model, request, placement) ?? 0) : 0;
    return Math.max(outage.retryAt, now.mono) + load + read < request.deadlineAt;
  });
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
  missGpu(out, model);
  out.changes.push({
    type: 'model_error',
    model: model.name,
    error: whyNot(state, model, null, pursuit, now).message,
  });
  out.changes.push({ type: 'wanted_set', model: model.name, wanted: null });
}
