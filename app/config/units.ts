/** Sizes and durations as people write them: `6GiB`, `90s`. Kept inside as bytes and milliseconds. */

const SIZE_UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;
const DURATION_UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Sources of regular expressions, shared with the JSON schema. */
export const SIZE_PATTERN = '^\\d+(\\.\\d+)?(B|KiB|MiB|GiB|TiB)$';
export const DURATION_PATTERN = '^\\d+(\\.\\d+)?(ms|s|m|h|d)$';

/** The longest duration that is accepted: a timer of Node holds 2^31 - 1 ms. */
export const LONGEST_MS = 2 ** 31 - 1;

function parse(text: string, units: Readonly<Record<string, number>>): number | null {
  const match = /^(\d+(?:\.\d+)?)([A-Za-z]+)$/.exec(text.trim());
  const factor = match?.[2] === undefined ? undefined : units[match[2]];
  return match?.[1] === undefined || factor === undefined ? null : Math.round(Number(match[1]) * factor);
}

/** Bytes of `512MiB`, `6GiB`; null where it is not a size. */
export function parseSize(text: string): number | null {
  return parse(text, SIZE_UNITS);
}

/** Milliseconds of `500ms`, `90s`, `10m`; null where it is not a duration. */
export function parseDuration(text: string): number | null {
  return parse(text, DURATION_UNITS);
}

function format(value: number, units: Readonly<Record<string, number>>): string {
  const fits = Object.entries(units).filter(([, factor]) => value >= factor && value % factor === 0);
  const [name, factor] = fits.at(-1) ?? Object.entries(units)[0] ?? ['', 1];
  return `${value / factor}${name}`;
}

/** `6GiB`: the largest unit that gives a whole number. */
export function formatSize(bytes: number): string {
  return format(bytes, SIZE_UNITS);
}

/** `90s`: the largest unit that gives a whole number. */
export function formatDuration(ms: number): string {
  return ms === 0 ? '0s' : format(ms, DURATION_UNITS);
}
