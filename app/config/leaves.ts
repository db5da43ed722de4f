/**
 * Values of the configuration that occur more than once. Each carries what was expected as its error, so
 * that a message never says only "invalid".
 */
import { z } from 'zod';
import {
  DURATION_PATTERN,
  formatDuration,
  LONGEST_MS,
  parseDuration,
  parseSize,
  SIZE_PATTERN,
} from './units.ts';

/** What the reference tells of a key beside its schema. */
export interface KeyMeta {
  readonly description: string;
  /** The key is read and checked, but nothing uses it yet. */
  readonly noEffectYet?: boolean;
  [extra: string]: unknown;
}

const SIZE = 'a size with its unit, such as 512MiB or 6GiB';
const DURATION = 'a duration with its unit, such as 500ms, 90s, 10m, 2h or 7d, and at most 24 days';

/** Input `6GiB`, output bytes. */
export function size() {
  return z
    .string({ error: SIZE })
    .regex(new RegExp(SIZE_PATTERN), { error: SIZE })
    .transform((text) => parseSize(text) ?? 0);
}

/** Input `90s`, output milliseconds, of which there are `leastMs` or more. */
export function duration(leastMs = 0) {
  const error = leastMs === 0 ? DURATION : `${DURATION}, and at least ${formatDuration(leastMs)}`;
  return z
    .string({ error })
    .regex(new RegExp(DURATION_PATTERN), { error })
    .refine(isBetween(leastMs, LONGEST_MS), { error })
    .transform((text) => parseDuration(text) ?? 0);
}

function isBetween(leastMs: number, mostMs: number): (text: string) => boolean {
  return (text) => {
    const ms = parseDuration(text) ?? 0;
    return leastMs <= ms && ms <= mostMs;
  };
}

/** A word of its own (`auto`, `never`) instead of a size. */
export function sizeOr<W extends string>(word: W) {
  return z.union([z.literal(word), size()], { error: `${word}, or ${SIZE}` });
}

export function durationOr<W extends string>(word: W) {
  return z.union([z.literal(word), duration()], { error: `${word}, or ${DURATION}` });
}

export function wholeNumber(min: number, max: number) {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function yesNo() {
  return z.boolean({ error: 'true or false' });
}

export function choice<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `one of ${values.join(', ')}` });
}

/** A string of a certain form. */
export function text(expected: string, form: RegExp = /./) {
  return z.string({ error: expected }).regex(form, { error: expected });
}

export const ABSOLUTE_PATH = /^\/[^\0]*$/;

export function absolutePath() {
  return text('an absolute path, such as /models', ABSOLUTE_PATH);
}

/** A path below the models folder: no way out of it. */
export function modelPath() {
  const expected =
    'a file below paths.models, written without a leading / and without .., such as chat/model.gguf';
  return text(expected, /^(?!\/)(?!(?:.*\/)?\.{1,2}(?:\/|$))[^\0\\]+$/);
}

const SECRET = 'a text, or {file: PATH}, or {env: NAME}';

/** A secret as written; `secrets.ts` reads the file or the variable. */
export function secret() {
  const variable = text('the name of an environment variable', /^[A-Za-z_][A-Za-z0-9_]*$/);
  return z.union(
    [
      text('a text that is not empty'),
      z.strictObject({ file: text('an absolute path', ABSOLUTE_PATH) }),
      z.strictObject({ env: variable }),
    ],
    { error: SECRET },
  );
}

export type SecretSource = z.output<ReturnType<typeof secret>>;

/** What was expected, or null where nothing is wrong. */
type Refuse = (name: string) => string | null;
type RefuseValue = (name: string, value: string) => string | null;

/** Environment variables whose names and values pass a check; numbers and booleans become text. */
export function variables(refuse: Refuse, refuseValue: RefuseValue = () => null) {
  const value = z
    .union([z.string(), z.number(), z.boolean()], { error: 'a text, a number, or true or false' })
    .transform(String);
  return z.record(z.string(), value, { error: 'a list of NAME: value' }).superRefine((variables, context) => {
    for (const [name, value] of Object.entries(variables)) {
      const unknown = refuse(name);
      const expected = unknown ?? refuseValue(name, value);
      if (expected === null) continue;
      const params = { unknownKey: unknown !== null };
      context.addIssue({ code: 'custom', path: [name], message: expected, params });
    }
  });
}

/** A list without doubles. */
export function uniqueList<T extends z.ZodType>(item: T, expected: string) {
  return z
    .array(item, { error: expected })
    .refine((list) => new Set(list).size === list.length, { error: `${expected}, each once` });
}

/** A name that fits HTTP headers, URLs and labels. */
export function name() {
  return text(
    'a name of letters, digits and . _ : @ + -, at most 64 characters, beginning with a letter or digit',
    /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,63}$/,
  );
}

/** A name as clients may write one: also with `/`. */
export function alias() {
  return text(
    'a name of letters, digits and . _ : / @ + -, at most 100 characters, beginning with a letter or digit',
    /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$/,
  );
}

/** A short name for labels, topics and container names. */
export function slug() {
  return text('a name of a-z, 0-9 and -, at most 40 characters', /^[a-z0-9-]{1,40}$/);
}

export function host() {
  return text('a host name or an address', /^[^\s/]+$/);
}

/** Options of a section: a group of keys. */
export const section = { error: 'a section' };
