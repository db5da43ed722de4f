/** Runs entries at the times of their cron lines, by the wall clock of a zone. */
import type { Clock } from '../../ports.ts';
import { nextRun } from './next-run.ts';

/** The wall clock may be set meanwhile, so it is looked at again after so long. */
const LOOK_MS = 3_600_000;
/** What the machine slept through is made up for within this, ms. */
const LATE_MS = 3_600_000;

export interface SchedulesParts<E> {
  readonly clock: Clock;
  readonly run: (entry: E) => void;
  /** It came due `ms` ago and is left out. */
  readonly tooLate: (entry: E, ms: number) => void;
}

export interface Schedules<E> {
  /** Takes the place of all before; the same again changes nothing. */
  set(entries: readonly E[], zone: string): void;
  stop(): void;
}

/** Nothing runs before `set`. */
export function schedules<E extends { readonly cron: string }>(parts: SchedulesParts<E>): Schedules<E> {
  let running = '';
  let cancels: (() => void)[] = [];

  function stop(): void {
    for (const cancel of cancels) cancel();
    cancels = [];
    running = '';
  }

  return {
    set(entries, zone) {
      const wanted = JSON.stringify([entries, zone]);
      if (wanted === running) return;
      stop();
      running = wanted;
      cancels = entries.map((entry) => runAtTimes(entry, zone, parts));
    },
    stop,
  };
}

/** The returned function ends it. */
function runAtTimes<E extends { readonly cron: string }>(
  entry: E,
  zone: string,
  { clock, run, tooLate }: SchedulesParts<E>,
): () => void {
  let cancel = (): void => {};
  let due = nextRun(entry.cron, zone, clock.now().wall);

  const wait = (): void => {
    if (due === null) return;
    const { mono, wall } = clock.now();
    cancel = clock.at(mono + Math.min(Math.max(due - wall, 0), LOOK_MS), look);
  };
  const look = (): void => {
    const { wall } = clock.now();
    const late = wall - (due ?? wall);
    if (late >= 0) {
      due = nextRun(entry.cron, zone, wall);
      if (late <= LATE_MS) run(entry);
      else tooLate(entry, late);
    } else if (due !== null) due = nextRun(entry.cron, zone, wall);
    wait();
  };
  wait();
  return () => cancel();
}
