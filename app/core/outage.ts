/** The circuit breaker of a placement: how long it stays out of service after failures in a row. */
import type { ModelState, Outage } from './state.ts';
import type { Now, Placement, Reason } from './types.ts';

/** The CPU is the last resort: it is tried again soon. */
const CPU_RETRY_MS = 2_000;
const CPU_RETRY_MAX_MS = 60_000;
const GPU_RETRY_MAX_MS = 600_000;

/** The wait doubles with each failure in a row, up to a cap. */
export function retryWait(placement: Placement, failures: number, returnAfterMs: number): number {
  const first = placement === 'cpu' ? CPU_RETRY_MS : returnAfterMs;
  const cap = placement === 'cpu' ? CPU_RETRY_MAX_MS : Math.max(GPU_RETRY_MAX_MS, returnAfterMs);
  return Math.min(cap, first * 2 ** Math.min(failures - 1, 20));
}

/** A placement that served for so long after an outage is steady again: its next failure is a first one. */
export const STEADY_MS = 600_000;

/** Failures in a row that count for the next one: of the outage that holds, or of one that ended a moment ago. */
function failuresBefore(model: ModelState | undefined, placement: Placement, now: Now): number {
  const held = model?.outages.get(placement);
  if (held !== undefined) return held.failures;
  const recovery = model?.recovered.get(placement);
  return recovery !== undefined && now.mono - recovery.at < STEADY_MS ? recovery.failures : 0;
}

/** An outage that begins, or goes on after a probe failed: `since` stays that of the first failure. */
export function nextOutage(
  model: ModelState | undefined,
  now: Now,
  failed: { readonly placement: Placement; readonly reason: Reason; readonly detail: string | null },
  returnAfterMs: number,
): Outage {
  const failures = failuresBefore(model, failed.placement, now) + 1;
  return {
    ...failed,
    since: model?.outages.get(failed.placement)?.since ?? now,
    failures,
    retryAt: now.mono + retryWait(failed.placement, failures, returnAfterMs),
  };
}
