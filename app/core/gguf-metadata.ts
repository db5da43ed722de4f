/**
 * Reading of a GGUF file's metadata: whole numbers and texts, undefined for anything else.
 */
import type { GgufValue } from './gguf-types.ts';

export type Metadata = ReadonlyMap<string, GgufValue>;

/** A whole number of the metadata; of an array its first element; undefined where absent or anything else. */
export function numberOf(meta: Metadata, key: string): number | undefined {
  return elementOf(meta, key, 0);
}

/** A text of the metadata, or undefined. */
export function textOf(meta: Metadata, key: string): string | undefined {
  const value = meta.get(key);
  return typeof value === 'string' ? value : undefined;
}

/** The value for one layer: of an array its element, else the one number for all layers. */
export function elementOf(meta: Metadata, key: string, index: number): number | undefined {
  const value = meta.get(key);
  const element: unknown = Array.isArray(value) ? value[index] : value;
  return isCount(element) ? element : undefined;
}

/** The largest number under a key, alone or in an array; 0: none. */
export function largest(meta: Metadata, key: string): number {
  const value = meta.get(key);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter(isCount).reduce((most, n) => Math.max(most, n), 0);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
