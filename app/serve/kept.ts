/**
 * Keeps totals, learned speeds and reduced profiles over a restart: written a while after a request or a
 * reduction, never at rest.
 */
import type { Loop } from '../loop.ts';
import type { Store } from '../ports/store.ts';
import type { Clock } from '../ports.ts';

const KEEP_AFTER_MS = 5_000;

/** The returned function ends it, after keeping what is new. */
export function keepTotals(loop: Loop, store: Pick<Store, 'update'>, clock: Clock): () => void {
  const { counters, speeds } = loop.state;
  let keptReductions = loop.state.reductions;
  let cancel: (() => void) | null = null;
  let kept = counters.requests;
  const keep = (): void => {
    cancel = null;
    kept = counters.requests;
    keptReductions = loop.state.reductions;
    store.update({
      counters: { ...counters },
      speeds: Object.fromEntries(speeds),
      reductions: Object.fromEntries(keptReductions),
    });
  };
  const unsubscribe = loop.onTurn(() => {
    const nothingNew = counters.requests === kept && loop.state.reductions === keptReductions;
    if (cancel !== null || nothingNew) return;
    cancel = clock.at(clock.now().mono + KEEP_AFTER_MS, keep);
  });
  return () => {
    unsubscribe();
    cancel?.();
    keep();
  };
}
