/** Local time of a zone, from Intl's data. A local time is written as the UTC moment with the same fields. */

const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    const two = '2-digit';
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      ...{ month: two, day: two, hour: two, minute: two, second: two },
    });
    formats.set(zone, format);
  }
  return format;
}

/** What the clocks of the zone show at a moment (Unix ms, whole seconds). */
export function localTime(zone: string, moment: number): number {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
}

/** Milliseconds that the zone is ahead of UTC. */
function offsetAt(zone: string, moment: number): number {
  const whole = Math.floor(moment / 1000) * 1000;
  return localTime(zone, whole) - whole;
}

/** How the clocks of a zone are set around a local day. */
export interface DayClock {
  /** They are changed on this day, or next to it. */
  readonly changes: boolean;
  /**
   * The moment at which they show a local time; of two the first. A time that they skip is counted on from
   * before the change: half an hour into the gap is half an hour after it began.
   */
  momentOf(local: number): number;
}

/** `day`: its local midnight. */
export function dayClock(zone: string, day: number): DayClock {
  const before = offsetAt(zone, day - DAY_MS);
  const after = offsetAt(zone, day + 2 * DAY_MS);
  const changes = before !== after;
  return {
    changes,
    momentOf(local) {
      const early = local - before;
      if (!changes || localTime(zone, early) === local) return early;
      const late = local - after;
      return localTime(zone, late) === local ? late : early;
    },
  };
}
