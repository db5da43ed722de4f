/** The circuit breaker of a placement: how long it stays out of service after failures in a row. */
import type { Outage } from './state.ts';
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

/** An outage that begins, or goes on after a probe failed: `since` stays that of the first failure. */
export function nextOutage(
  before: Outage | undefined,
  now: Now,
  failed: { readonly placement: Placement; readonly reason: Reason; readonly detail: string | null },
  returnAfterMs: number,
): Outage {
  const failures = (before?.failures ?? 0) + 1;
  return {
    ...failed,
    since: before?.since ?? now,
    failures,
    retryAt: now.mono + retryWait(failed.placement, failures, returnAfterMs),
  };
}
