/** A beat every `ms` until it is stopped: comments keep proxies and clients from giving a silent stream up. */
import type { Clock } from '../../../ports.ts';

/** The returned function stops it. */
export function keepalive(clock: Clock, ms: number, beat: () => void): () => void {
  let cancel = clock.at(clock.now().mono + ms, ring);
  function ring(): void {
    cancel = clock.at(clock.now().mono + ms, ring);
    beat();
  }
  return () => cancel();
}
