/**
 * Strict reading of bodies, queries and path parts: an error names the field, the value, what was
 * expected, and the nearest key for an unknown one.
 */
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import { hint } from './hint.ts';

type Shape = z.core.$ZodLooseShape;

/**
 * Reads `value` by an exact object schema. `where` is a word for messages ("body", "query").
 * @throws AppError `invalid_request`
 */
export function read<S extends Shape>(
  schema: z.ZodObject<S, z.core.$strict>,
  value: unknown,
  where: string,
): z.output<typeof schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const known = Object.keys(schema.shape);
  // An unknown key explains a missing one beside it, so it comes first.
  const issues = [...result.error.issues].sort((a, b) => rank(a) - rank(b));
  const text = issues.map((issue) => describe(issue, value, where, known)).join(' ');
  throw new AppError('invalid_request', text, { cause: result.error });
}

function rank(issue: z.core.$ZodIssue): number {
  return issue.code === 'unrecognized_keys' ? 0 : 1;
}

function describe(issue: z.core.$ZodIssue, whole: unknown, where: string, known: readonly string[]): string {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .map((key) => `Unknown key ${quote(key)} in the ${where}.${keyHint(key, known)}`)
      .join(' ');
  }
  const path = issue.path.map(String);
  const given = at(whole, path);
  if (path.length === 0) return `The ${where} is ${shown(given)}, expected ${expected(issue)}.`;
  const name = `${quote(path.join('.'))} in the ${where}`;
  if (given === undefined) return `${name} is missing, expected ${expected(issue)}.`;
  return `${name} is ${shown(given)}, expected ${expected(issue)}.`;
}

function keyHint(key: string, known: readonly string[]): string {
  return known.length === 0 ? ' It takes none.' : hint(key, known);
}

const TYPES: Readonly<Record<string, string>> = { object: 'a JSON object', boolean: 'true or false' };

function expected(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? `a ${issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1 ? shown(issue.values[0]) : `one of ${issue.values.join(', ')}`;
    default:
      return issue.message;
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** A value as a reader recognises it, cut where it is long. */
function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);
}

const WHOLE_NUMBER = 'a whole number from 0';

/** A number in a query: digits only, up to the largest safe integer. */
export function wholeNumber(expectation: string = WHOLE_NUMBER) {
  return z
    .string({ error: expectation })
    .regex(/^\d{1,15}$/, { error: expectation })
    .transform(Number);
}

/** A switch in a query: `?wait=1`. */
export const queryFlag = z
  .enum(['0', '1', 'true', 'false'])
  .transform((value) => value === '1' || value === 'true');
