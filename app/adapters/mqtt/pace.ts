/**
 * Keeps something from being done too often without losing the last time it was asked for.
 */
import type { Clock } from '../../ports.ts';

export interface Pace {
  /** Runs at once where the interval has passed, else when it has: one run for however many calls. */
  ask(): void;
  /** Forgets what was asked for. */
  stop(): void;
}

/** At most one `run` in `intervalMs`. */
export function pace(clock: Clock, intervalMs: number, run: () => void): Pace {
  let last = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  const fire = () => {
    cancel = null;
    last = clock.now().mono;
    run();
  };
  return {
    ask() {
      if (cancel !== null) return;
      const due = last + intervalMs;
      if (clock.now().mono >= due) fire();
      else cancel = clock.at(due, fire);
    },
    stop() {
      cancel?.();
      cancel = null;
    },
  };
}
