/** Keeps totals and learned speeds over a restart: written a while after a request, never at rest. */
import type { Loop } from '../loop.ts';
import type { Clock, Store } from '../ports.ts';

const KEEP_AFTER_MS = 5_000;

/** The returned function ends it, after keeping what is new. */
export function keepTotals(loop: Loop, store: Pick<Store, 'update'>, clock: Clock): () => void {
  const { counters, speeds } = loop.state;
  let cancel: (() => void) | null = null;
  let kept = counters.requests;
  const keep = (): void => {
    cancel = null;
    kept = counters.requests;
    store.update({ counters: { ...counters }, speeds: Object.fromEntries(speeds) });
  };
  const unsubscribe = loop.onTurn(() => {
    if (cancel !== null || counters.requests === kept) return;
    cancel = clock.at(clock.now().mono + KEEP_AFTER_MS, keep);
  });
  return () => {
    unsubscribe();
    cancel?.();
    keep();
  };
}
