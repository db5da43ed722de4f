/** Keeps the totals over a restart: written a while after they changed, never at rest. */
import type { Loop } from '../loop.ts';
import type { Clock, Store } from '../ports.ts';

const KEEP_AFTER_MS = 5_000;

/** The returned function ends it, after keeping what is new. */
export function keepCounters(loop: Loop, store: Store, clock: Clock): () => void {
  let cancel: (() => void) | null = null;
  let kept = { ...loop.state.counters };
  const keep = (): void => {
    cancel = null;
    kept = { ...loop.state.counters };
    store.update({ counters: kept });
  };
  const unsubscribe = loop.onTurn(() => {
    if (cancel !== null || loop.state.counters.requests === kept.requests) return;
    cancel = clock.at(clock.now().mono + KEEP_AFTER_MS, keep);
  });
  return () => {
    unsubscribe();
    cancel?.();
    keep();
  };
}
