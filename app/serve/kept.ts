/**
 * Keeps totals, learned speeds and lengths, reduced profiles and raised limits over a restart: written a while after a
 * request or a change of a profile, never at rest.
 */
import type { Loop } from '../loop.ts';
import type { Store } from '../ports/store.ts';
import type { Clock } from '../ports.ts';

const KEEP_AFTER_MS = 5_000;

/** The returned function ends it, after keeping what is new. */
export function keepTotals(loop: Loop, store: Pick<Store, 'update'>, clock: Clock): () => void {
  const { counters, speeds, answerTokens } = loop.state;
  /** What tells a state that was kept from a newer one. */
  const present = () => [counters.requests, loop.state.reductions, loop.state.raisedLimits] as const;
  let cancel: (() => void) | null = null;
  let kept = present();
  const keep = (): void => {
    cancel = null;
    kept = present();
    const [, reductions, raisedLimits] = kept;
    store.update({
      counters: { ...counters },
      speeds: Object.fromEntries(speeds),
      answerTokens: Object.fromEntries(answerTokens),
      reductions: Object.fromEntries(reductions),
      raisedLimits: [...raisedLimits],
    });
  };
  const unsubscribe = loop.onTurn(() => {
    if (cancel !== null || present().every((part, at) => part === kept[at])) return;
    cancel = clock.at(clock.now().mono + KEEP_AFTER_MS, keep);
  });
  return () => {
    unsubscribe();
    cancel?.();
    keep();
  };
}
