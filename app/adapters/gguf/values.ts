/**
 * Reads one metadata value of a GGUF file. Long arrays and texts (token tables, templates) are passed over:
 * only their length is kept.
 */
import type { GgufValue } from '../../core/gguf-types.ts';
import type { ByteSource } from './byte-source.ts';

/** Longest array and text (elements, bytes) that are kept; layers count at most a few hundred. */
const KEPT_ELEMENTS = 1024;
const KEPT_TEXT = 4096;
const LONGEST_NAME = 1024;

/** Makes the error for a header that cannot be true. */
export type Damaged = (what: string) => Error;

/** A key or a tensor's name. */
export async function readName(source: ByteSource, damaged: Damaged): Promise<string> {
  await source.need(8);
  const length = source.u64();
  if (length > LONGEST_NAME) throw damaged(`a name is ${length} bytes long`);
  await source.need(length);
  return source.bytes(length).toString('utf8');
}

const STRING = 8;
const ARRAY = 9;
/** Value type -> bytes; the fixed-size types. */
const SIZES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);

/** The value of a type number of the format. */
export async function readValue(source: ByteSource, type: number, damaged: Damaged): Promise<GgufValue> {
  if (type === STRING) return readText(source);
  if (type === ARRAY) return readArray(source, damaged);
  const size = SIZES.get(type);
  if (size === undefined) throw damaged(`value type ${type} does not exist`);
  await source.need(size);
  return type === 7 ? source.number(type) !== 0 : source.number(type);
}

async function readText(source: ByteSource): Promise<GgufValue> {
  await source.need(8);
  const length = source.u64();
  if (length > KEPT_TEXT) {
    source.skip(length);
    return { count: length };
  }
  await source.need(length);
  return source.bytes(length).toString('utf8');
}

async function readArray(source: ByteSource, damaged: Damaged): Promise<GgufValue> {
  await source.need(12);
  const type = source.u32();
  const count = source.u64();
  if (type === STRING) return readTexts(source, count);
  const size = SIZES.get(type);
  if (size === undefined) throw damaged(`an array of value type ${type} does not exist`);
  if (count > KEPT_ELEMENTS) {
    source.skip(count * size);
    return { count };
  }
  await source.need(count * size);
  return Array.from({ length: count }, () => source.number(type));
}

/** Texts have no common length, so each is stepped over; only a short list is kept. */
async function readTexts(source: ByteSource, count: number): Promise<GgufValue> {
  if (count > KEPT_ELEMENTS) {
    await source.skipTexts(count);
    return { count };
  }
  const texts: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const text = await readText(source);
    texts.push(typeof text === 'string' ? text : '');
  }
  return texts;
}
