/**
 * The form of a cron line: five fields (minute, hour, day of the month, month, day of the week) or six with
 * the second before them; each `*`, numbers, names, ranges, lists and steps.
 */
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words: readonly string[];
}

const SECOND: Field = { name: 'second', min: 0, max: 59, words: [] };
const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59, words: [] },
  { name: 'hour', min: 0, max: 23, words: [] },
  { name: 'day of the month', min: 1, max: 31, words: [] },
  { name: 'month', min: 1, max: 12, words: MONTHS },
  { name: 'day of the week', min: 0, max: 7, words: DAYS },
];

/** Null where the line is good; otherwise what was expected, with the field that is wrong. */
export function cronProblem(line: string): string | null {
  const parts = line.trim().split(/\s+/);
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  if (parts.length !== fields.length) return 'a cron line of five or six fields, such as "0 2 * * *"';
  for (const [index, field] of fields.entries()) {
    if (!parts[index]?.split(',').every((item) => itemIsGood(item, field))) {
      return `a cron line whose ${field.name} is from ${field.min} to ${field.max}, not ${parts[index]}`;
    }
  }
  return null;
}

function itemIsGood(item: string, field: Field): boolean {
  const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(item);
  if (match === null || (match[4] !== undefined && Number(match[4]) < 1)) return false;
  if (match[1] === '*') return true;
  const from = numberOf(match[2], field);
  const to = match[3] === undefined ? from : numberOf(match[3], field);
  return from !== null && to !== null && from <= to;
}

function numberOf(word: string | undefined, field: Field): number | null {
  if (word === undefined) return null;
  const index = field.words.indexOf(word.toLowerCase());
  const value =
    index >= 0 ? index + (field.min === 1 ? 1 : 0) : /^\d+$/.test(word) ? Number(word) : Number.NaN;
  return value >= field.min && value <= field.max ? value : null;
}
