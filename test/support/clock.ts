/** A clock that only moves when a test says so; alarms ring in their order. */
import type { Clock } from '../../app/ports.ts';

export interface ManualClock extends Clock {
  /** Moves time on by `ms`, ringing every alarm that comes due, at its own moment. */
  advance(ms: number): void;
  /** The machine sleeps for `ms`: what comes due meanwhile rings afterwards. */
  sleep(ms: number): void;
  /** How many alarms are set. */
  alarms(): number;
}

const WALL_START = Date.UTC(2026, 0, 1);

export function manualClock(): ManualClock {
  let mono = 1_000;
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>();
  return {
    now: () => ({ mono, wall: WALL_START + mono }),
    at(at, ring) {
      const alarm = { at, ring };
      alarms.add(alarm);
      return () => alarms.delete(alarm);
    },
    advance(ms) {
      const end = mono + ms;
      for (;;) {
        const next = [...alarms].filter((alarm) => alarm.at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        mono = Math.max(mono, next.at);
        alarms.delete(next);
        next.ring();
      }
      mono = end;
    },
    sleep(ms) {
      mono += ms;
      this.advance(0);
    },
    alarms: () => alarms.size,
  };
}

export interface WatchedClock extends ManualClock {
  nextRead(): Promise<void>;
}

/** A manual clock that tells when it is read: the edge does that when bytes that matter have come. */
export function watchedClock(): WatchedClock {
  const clock = manualClock();
  let read = () => {};
  return {
    ...clock,
    now() {
      read();
      return clock.now();
    },
    nextRead: () =>
      new Promise((resolve) => {
        read = resolve;
      }),
  };
}
