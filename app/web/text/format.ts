/**
 * Numbers, sizes, durations and times as people of a language read them.
 */

export const LANGUAGES = ['en', 'ko', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Format {
  /** Memory: bytes in GiB, one decimal; less than 0.1 GiB in MiB. */
  memory(bytes: number): string;
  /** Files on disk: bytes in GB, one decimal; less than 0.1 GB in MB. */
  file(bytes: number): string;
  /** Seconds as `12 s`, `2 min 10 s`, `1 h 5 min`; one decimal below 10 s, milliseconds below 0.1 s. */
  duration(seconds: number): string;
  /** Whole seconds: a count that runs on the screen must not flicker with decimals. */
  ticking(seconds: number): string;
  /** Time of day, 24 hours; `time` is ISO 8601 or Unix ms. */
  clock(time: string | number): string;
  clockSeconds(time: string | number): string;
  /** A day with its weekday. */
  day(time: string | number): string;
  /** `YYYY-MM-DD` in the box's zone, to compare days. */
  dayKey(time: string | number): string;
  number(value: number): string;
  /** One decimal. */
  decimal(value: number): string;
  /** One decimal below 10, none from there on. */
  figure(value: number): string;
}

interface Units {
  readonly hour: string;
  readonly minute: string;
  /** Where no seconds follow. */
  readonly minuteAlone: string;
  readonly second: string;
  /** Between number and unit. */
  readonly gap: string;
}

/** Keeps a number and its unit on one line. */
const NBSP = '\u00a0';

const UNITS: Record<Language, Units> = {
  en: { hour: 'h', minute: 'min', minuteAlone: 'min', second: 's', gap: NBSP },
  ko: { hour: '시간', minute: '분', minuteAlone: '분', second: '초', gap: '' },
  zh: { hour: '小时', minute: '分', minuteAlone: '分钟', second: '秒', gap: NBSP },
};

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** The larger two units that matter: no seconds beside hours. */
function durationText(units: Units, total: number, seconds: (value: number) => string): string {
  const part = (value: string, unit: string) => `${value}${units.gap}${unit}`;
  if (total !== 0 && total < 0.0995 && total >= 0.0005) return `${Math.round(total * 1000)}${NBSP}ms`;
  if (total < 59.95) return part(seconds(total), units.second);
  const whole = Math.round(total);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) {
    const rest = whole % 60;
    if (rest === 0) return part(String(minutes), units.minuteAlone);
    return `${part(String(minutes), units.minute)} ${part(String(rest), units.second)}`;
  }
  const rest = minutes % 60;
  const text = part(String(Math.floor(minutes / 60)), units.hour);
  return rest === 0 ? text : `${text} ${part(String(rest), units.minuteAlone)}`;
}

/**
 * Minutes east of UTC that an ISO 8601 time states; null where it states none, or only `Z`, which says
 * nothing about where its writer lives.
 */
export function zoneOffset(iso: string): number | null {
  const match = /([+-])(\d\d):?(\d\d)$/.exec(iso);
  if (match === null) return null;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === '-' ? -minutes : minutes;
}

/** `offset`: minutes east of UTC of the box, null for the reader's own zone. */
export function createFormat(language: Language, offset: number | null): Format {
  const units = UNITS[language];
  const zone = offset === null ? {} : { timeZone: 'UTC' };
  const shifted = (time: string | number) =>
    (typeof time === 'number' ? time : Date.parse(time)) + (offset ?? 0) * 60_000;
  const one = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
  const figure = (value: number) => (value < 9.95 ? one.format(value) : whole.format(value));
  const clock = new Intl.DateTimeFormat(language, {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const seconds = new Intl.DateTimeFormat(language, {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  const day = new Intl.DateTimeFormat(language, { ...zone, weekday: 'long', month: 'long', day: 'numeric' });
  const key = new Intl.DateTimeFormat('sv', { ...zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const size = (bytes: number, big: number, bigUnit: string, small: number, smallUnit: string) =>
    bytes !== 0 && Math.abs(bytes) < big / 10
      ? `${whole.format(bytes / small)}${NBSP}${smallUnit}`
      : `${one.format(bytes / big)}${NBSP}${bigUnit}`;
  return {
    memory: (bytes) => size(bytes, GIB, 'GiB', MIB, 'MiB'),
    file: (bytes) => size(bytes, 1e9, 'GB', 1e6, 'MB'),
    duration: (total) => durationText(units, total, figure),
    ticking: (total) => durationText(units, Math.max(0, Math.floor(total)), (value) => whole.format(value)),
    clock: (time) => clock.format(shifted(time)),
    clockSeconds: (time) => seconds.format(shifted(time)),
    day: (time) => day.format(shifted(time)),
    dayKey: (time) => key.format(shifted(time)),
    number: (value) => whole.format(value),
    decimal: (value) => one.format(value),
    figure,
  };
}
