/** A beat every `ms` until it is stopped: comments keep proxies and clients from giving a silent stream up. */
import type { Clock } from '../../../ports.ts';
import type { Alarms } from './alarms.ts';

/** The returned function stops it; once is enough, more does nothing. */
export function keepalive(clock: Clock, alarms: Alarms, ms: number, beat: () => void): () => void {
  let running = true;
  const alarm = {
    at: clock.now().mono + ms,
    index: 0,
    ring() {
      alarm.at = clock.now().mono + ms;
      beat();
    },
  };
  alarms.add(alarm);
  return () => {
    if (!running) return;
    running = false;
    alarms.remove(alarm);
  };
}
