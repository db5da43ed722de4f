/** What is wrong in a configuration file, in words that name the place and what was expected. */
import type { z } from 'zod';
import { nearest } from '../core/nearest.ts';
import { fixedPaths, keysAt, type SchemaNode } from './known-keys.ts';
import type { Path } from './yaml.ts';

export interface ConfigProblem {
  readonly file: string;
  /** From 1; null where the file has no such place. */
  readonly line: number | null;
  /** Full path of the key; empty for the file as a whole. */
  readonly key: string;
  /** As JSON, at most 80 characters, secrets hidden; null where there is none. */
  readonly value: string | null;
  readonly expected: string;
  /** A key that was probably meant. */
  readonly suggestion: string | null;
  /** All of it in one line. */
  readonly text: string;
}

/** A fault at a path, before it is put in words. */
export interface Fault {
  readonly path: Path;
  readonly kind: 'unknown_key' | 'wrong_value';
  readonly expected: string;
}

const HIDDEN = '(hidden)';
const SECRET_KEY = /token|api_?key|passw|secret|(^|\.)pass$/i;

/** `models.chat.gpu`, `schedules[0].cron`. */
export function keyText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
}

/** Flattens zod's issues to faults; of a union that form is judged that comes nearest. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], prefix: Path = []): Fault[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key): Fault => ({ path: [...path, key], kind: 'unknown_key', expected: '' }));
    }
    if (issue.code === 'invalid_union') {
      const form = nearestForm(issue.errors);
      return form === null ? [{ path, kind: 'wrong_value', expected: issue.message }] : faultsOf(form, path);
    }
    if (issue.code === 'invalid_key') {
      return [{ path, kind: 'unknown_key', expected: issue.issues[0]?.message ?? issue.message }];
    }
    const kind =
      issue.code === 'custom' && issue.params?.['unknownKey'] === true ? 'unknown_key' : 'wrong_value';
    return [{ path, kind, expected: issue.message }];
  });
}

/** The form whose faults are all inside it, with the fewest of them; null: none fits even at its root. */
function nearestForm(forms: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | null {
  const inside = forms.filter((form) =>
    form.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  );
  const sorted = inside.toSorted((a, b) => a.length - b.length);
  return sorted[0] ?? null;
}

/** Puts a fault in words. `data` is the file's plain content. */
export function describe(
  fault: Fault,
  place: {
    readonly file: string;
    readonly line: number | null;
    readonly data: unknown;
    readonly schema: SchemaNode;
  },
): ConfigProblem {
  const key = keyText(fault.path);
  const known =
    fault.kind === 'unknown_key' && fault.expected === ''
      ? keysAt(place.schema, fault.path.slice(0, -1))
      : [];
  const suggestion = known.length === 0 ? null : suggest(fault.path, known, place.schema);
  const expected = known.length === 0 ? fault.expected : `one of ${known.join(', ')}`;
  const value = shown(valueAt(place.data, fault.path), `${key} ${suggestion ?? ''}`);
  const meant = suggestion === null ? '' : `did you mean ${suggestion}? `;
  const what = whatIsWrong(fault, value);
  const where = place.line === null ? place.file : `${place.file}:${place.line}`;
  const text = `${where}: ${key === '' ? '' : `${key}: `}${what}; ${meant}expected ${expected}`;
  return { file: place.file, line: place.line, key, value, expected, suggestion, text };
}

function whatIsWrong(fault: Fault, value: string | null): string {
  if (fault.kind === 'unknown_key') return `unknown key${value === null ? '' : ` (its value: ${value})`}`;
  return value === null ? 'missing' : `wrong value ${value}`;
}

function suggest(path: Path, known: readonly string[], schema: SchemaNode): string | null {
  const word = String(path.at(-1));
  const near = nearest(word, known);
  if (near !== null) return near;
  const elsewhere = fixedPaths(schema).filter((full) => full.split('.').at(-1) === word);
  return elsewhere.toSorted((a, b) => a.split('.').length - b.split('.').length)[0] ?? null;
}

function valueAt(data: unknown, path: Path): unknown {
  let value = data;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<PropertyKey, unknown>>)[step];
  }
  return value;
}

function shown(value: unknown, names: string): string | null {
  if (value === undefined) return null;
  if (SECRET_KEY.test(names)) return HIDDEN;
  const json =
    JSON.stringify(value, (key, inner: unknown) => (SECRET_KEY.test(key) ? HIDDEN : inner)) ?? String(value);
  const safe = json.replaceAll(/\/\/[^\s/@"]+@/g, `//${HIDDEN}@`);
  return safe.length <= 80 ? safe : `${safe.slice(0, 77)}...`;
}
