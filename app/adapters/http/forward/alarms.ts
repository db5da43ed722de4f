/**
 * Deadlines of all attempts on one timer: a timer for each would cost more than the rest of a small
 * request's bookkeeping. The timer is set again only for an earlier deadline; a premature ring sets it for
 * the earliest that is left.
 */
import type { Clock } from '../../../ports.ts';

/** A deadline; `at` may move later without telling, earlier only by `Alarms.sooner`. */
export interface Alarm {
  /** Monotonic ms; Infinity: none. */
  at: number;
  /** Place in the list, -1 outside; kept by `Alarms`. */
  index: number;
  /** Called at or after `at`, at most once for each value of it; may move `at` on. */
  ring(): void;
}

export interface Alarms {
  add(alarm: Alarm): void;
  /** `at` became earlier. */
  sooner(alarm: Alarm): void;
  remove(alarm: Alarm): void;
  /** Ends the timer. */
  close(): void;
}

export function alarms(clock: Clock): Alarms {
  /** An array, not a Set: V8 links the tables of a Set as it churns, and with them keeps what was in it. */
  const list: Alarm[] = [];
  let timerAt = Number.POSITIVE_INFINITY;
  let cancel: (() => void) | null = null;

  function arm(at: number): void {
    if (at >= timerAt) return;
    cancel?.();
    timerAt = at;
    cancel = clock.at(at, ring);
  }

  function ring(): void {
    cancel = null;
    timerAt = Number.POSITIVE_INFINITY;
    const now = clock.now().mono;
    for (const due of list.filter((alarm) => alarm.at <= now)) {
      // One that rang before it may have removed it.
      if (due.index < 0) continue;
      due.at = Number.POSITIVE_INFINITY;
      due.ring();
    }
    let next = Number.POSITIVE_INFINITY;
    for (const alarm of list) next = Math.min(next, alarm.at);
    arm(next);
  }

  return {
    add(alarm) {
      alarm.index = list.length;
      list.push(alarm);
      arm(alarm.at);
    },
    sooner(alarm) {
      arm(alarm.at);
    },
    remove(alarm) {
      const last = list.pop();
      if (last !== undefined && last !== alarm) {
        list[alarm.index] = last;
        last.index = alarm.index;
      }
      alarm.index = -1;
    },
    close() {
      cancel?.();
      cancel = null;
      timerAt = Number.NEGATIVE_INFINITY;
    },
  };
}
