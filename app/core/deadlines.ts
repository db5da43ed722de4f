/** When something comes due by itself. Only a tick looks: an alarm that comes too early does nothing. */
import { givenUpAt } from './engine-away.ts';
import type { State } from './state.ts';
import { idleDue } from './upkeep.ts';

/** The earliest moment after `mono` at which a rule may have something new to decide; Infinity: none. */
export function nextDue(state: State, mono: number): number {
  let next = Number.POSITIVE_INFINITY;
  const due = (at: number): void => {
    if (at > mono && at < next) next = at;
  };
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request?.phase.phase !== 'waiting') continue;
    due(request.deadlineAt);
    due(request.phase.notBefore);
  }
  for (const id of state.judged) {
    const request = state.requests.get(id);
    if (request?.phase.phase === 'judged') due(request.phase.until);
  }
  for (const instance of state.instances.values()) due(idleDue(state, instance) ?? 0);
  for (const model of state.models.values()) {
    for (const outage of model.outages.values()) due(outage.retryAt);
    due(model.overflow?.until ?? 0);
    due(model.standby.retryAt);
  }
  for (const need of state.needs.values()) if (need.kind === 'unknown') due(need.retryAt);
  for (const { until } of state.refusedBodies.values()) due(until);
  for (const { lostAt } of state.engines.values()) if (lostAt !== null) due(givenUpAt(lostAt));
  if (state.shutdown !== null) due(state.shutdown.deadline);
  return next;
}
