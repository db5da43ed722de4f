/**
 * What follows when an instance fails: it gets no new work, its placement goes out of service, and its
 * death is told once with the best reason known.
 */
import type { Decision } from './changes.ts';
import { isDrilled } from './drill.ts';
import type { FactBody } from './facts.ts';
import { about, type Instance } from './instance.ts';
import { nextOutage } from './outage.ts';
import { allowedPlacements, breaker } from './placement.ts';
import type { State } from './state.ts';
import type { Now, Placement, Reason } from './types.ts';

/** No new leases; it is killed when the last one ended. The placement is out of service from now on. */
export function takeOut(out: Decision, state: State, instance: Instance, reason: Reason, now: Now): void {
  if (instance.phase.state !== 'ready') return;
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'draining', since: now.mono, why: 'failed', reason },
  });
  beginOutage(out, state, instance, reason, null, now);
}

/** One failure more in a row for the instance's placement. */
export function beginOutage(
  out: Decision,
  state: State,
  instance: Instance,
  reason: Reason,
  detail: string | null,
  now: Now,
): void {
  const model = state.models.get(instance.model);
  if (model === undefined || state.policy === null) return;
  const outage = nextOutage(
    model,
    now,
    { placement: instance.placement, reason, detail },
    state.policy.failover.returnAfterMs,
  );
  out.changes.push({ type: 'outage_set', model: instance.model, outage });
}

/** The evidence has come: the outage keeps its time and gets the better reason. */
export function renameOutage(
  out: Decision,
  state: State,
  instance: Instance,
  reason: Reason,
  detail: string | null,
): void {
  const outage = state.models.get(instance.model)?.outages.get(instance.placement);
  if (outage === undefined) return;
  out.changes.push({ type: 'outage_set', model: instance.model, outage: { ...outage, reason, detail } });
}

/** The facts of one death: always `backend_crashed`, and the kind of trouble that people automate on. */
export function tellDeath(out: Decision, instance: Instance, reason: Reason, detail: string | null): void {
  const common: Omit<FactBody, 'type'> = {
    ...about(instance),
    reason,
    ...(detail === null ? {} : { detail }),
  };
  out.facts.push({ type: 'backend_crashed', ...common });
  if (reason === 'out_of_memory' || reason === 'memory_limit')
    out.facts.push({ type: 'out_of_memory', ...common });
  if (reason === 'gpu_lost' || reason === 'device_missing') out.facts.push({ type: 'gpu_lost', ...common });
}

/** One fact a death, with all the requests that it moved; none where nobody was moved. */
export function tellFailover(
  out: Decision,
  state: State,
  instance: Instance,
  reason: Reason,
  now: Now,
): void {
  if (instance.failoverTold) return;
  out.changes.push({ type: 'failover_told', instance: instance.id });
  const to = nextPlacement(state, instance, now);
  const [first] = instance.moved;
  if (first === undefined || to === null) return;
  const detail = state.models.get(instance.model)?.outages.get(instance.placement)?.detail;
  out.facts.push({
    type: 'failover',
    ...about(instance),
    to,
    reason,
    requestId: first,
    requestIds: instance.moved.slice(0, 16),
    count: instance.moved.length,
    ...(detail ? { detail } : {}),
  });
}

function nextPlacement(state: State, failed: Instance, now: Now): Placement | null {
  const model = state.policy?.models.get(failed.model);
  if (model === undefined) return null;
  const outages = state.models.get(failed.model)?.outages;
  const others = allowedPlacements(model).filter((placement) => placement !== failed.placement);
  return others.find((placement) => breaker(outages?.get(placement), now.mono) !== 'open') ?? null;
}

/** A kill by our own limit shows that the estimate was short: the limit is raised once; not after a drill. */
export function raiseLimit(out: Decision, state: State, instance: Instance, reason: Reason): boolean {
  const { hash } = instance.profile;
  if (reason !== 'memory_limit' || state.raisedLimits.has(hash)) return false;
  if (isDrilled(state, instance.model)) return false;
  out.changes.push({ type: 'limit_raised', hash });
  return true;
}
