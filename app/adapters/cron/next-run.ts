/**
 * When a cron line comes due. Times are local ones of a zone: where the clocks are put forward a skipped time is
 * counted on from before, where they are put back it counts once; so a daily line runs each day once.
 */
import { parse } from 'node-cron';
import { dayClock, localTime } from './zone.ts';

const DAY_MS = 86_400_000;
/** Leap days are up to eight years apart. */
const MOST_DAYS = 366 * 9;
const EVERY_DAY_OF_MONTH = 31;
const EVERY_WEEKDAY = 7;

interface Times {
  /** Of a day, in ms from its midnight, in order. */
  readonly offsets: readonly number[];
  readonly takes: (day: Date) => boolean;
}

/**
 * The first moment after `after` (Unix ms) at which the line comes due; null: within nine years it does not.
 * Throws where node-cron does not know the line.
 */
export function nextRun(line: string, zone: string, after: number): number | null {
  const { offsets, takes } = timesOf(line);
  const today = Math.floor(localTime(zone, Math.floor(after / 1000) * 1000) / DAY_MS) * DAY_MS;
  // Clocks that go over midnight back make yesterday's last hour come again.
  for (let day = today - DAY_MS, tries = 0; tries < MOST_DAYS; day += DAY_MS, tries += 1) {
    if (!takes(new Date(day))) continue;
    const { changes, momentOf } = dayClock(zone, day);
    if (!changes && momentOf(day + DAY_MS) <= after) continue;
    let first = Number.POSITIVE_INFINITY;
    for (const offset of offsets) {
      const moment = momentOf(day + offset);
      if (moment <= after || moment >= first) continue;
      first = moment;
      // Without a change local times come in their order.
      if (!changes) break;
    }
    if (first !== Number.POSITIVE_INFINITY) return first;
  }
  return null;
}

function timesOf(line: string): Times {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = parse(line);
  const offsets = hour.flatMap((h) =>
    minute.flatMap((m) => second.map((s) => ((h * 60 + m) * 60 + s) * 1000)),
  );
  const anyDate = dayOfMonth.length >= EVERY_DAY_OF_MONTH;
  const anyWeekday = dayOfWeek.length >= EVERY_WEEKDAY;
  return {
    offsets: offsets.sort((a, b) => a - b),
    takes(day) {
      if (!month.includes(day.getUTCMonth() + 1)) return false;
      const onDate = dayOfMonth.includes(day.getUTCDate());
      const onWeekday = dayOfWeek.includes(day.getUTCDay());
      // Where both are given either counts.
      return anyDate || anyWeekday ? onDate && onWeekday : onDate || onWeekday;
    },
  };
}
