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

/** The longest that each month can be. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Null where the line is good; otherwise what was expected, with the field that is wrong. */
export function cronProblem(line: string): string | null {
  const parts = line.trim().split(/\s+/);
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS;
  if (parts.length !== fields.length) return 'a cron line of five or six fields, such as "0 2 * * *"';
  const values: number[][] = [];
  for (const [index, field] of fields.entries()) {
    const part = parts[index] ?? '';
    const found = valuesOf(part, field);
    if (found === null)
      return `a cron line whose ${field.name} is from ${field.min} to ${field.max}, not ${part}`;
    values.push(found);
  }
  const [days = [], months = []] = values.slice(-3);
  const longest = Math.max(...months.map((month) => MONTH_DAYS[month - 1] ?? 0));
  if (Math.min(...days) <= longest) return null;
  return `a cron line with a day of the month that the month has, not ${parts.at(-3)}`;
}

/** All values that a field takes; null: it is not good. */
function valuesOf(part: string, field: Field): number[] | null {
  const found: number[] = [];
  for (const item of part.split(',')) {
    const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(item);
    const [, all, first, last, step] = match ?? [];
    const from = all === undefined ? numberOf(first, field) : field.min;
    const to = all === undefined ? (last === undefined ? from : numberOf(last, field)) : field.max;
    // A step goes over a range.
    const stepped = step === undefined || all !== undefined || last !== undefined;
    const by = Number(step ?? 1);
    if (match === null || from === null || to === null || from > to || by < 1 || !stepped) return null;
    for (let value = from; value <= to; value += by) found.push(value);
  }
  return found;
}

function numberOf(word: string | undefined, field: Field): number | null {
  if (word === undefined) return null;
  const index = field.words.indexOf(word.toLowerCase());
  const value =
    index >= 0 ? index + (field.min === 1 ? 1 : 0) : /^\d+$/.test(word) ? Number(word) : Number.NaN;
  return value >= field.min && value <= field.max ? value : null;
}
