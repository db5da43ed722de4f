/**
 * Writes GGUF files for tests: a true header, and data that is a hole in a sparse file, so that a model of
 * many GB takes no disk. Format: the GGUF specification.
 */
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { tensorBytes } from '../../app/core/gguf-types.ts';

export type Value =
  | { readonly u32: number }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly u32s: readonly number[] }
  | { readonly f32s: readonly number[] }
  | { readonly i32s: readonly number[] }
  | { readonly bools: readonly boolean[] }
  | { readonly texts: readonly string[] };

export interface TensorSpec {
  readonly name: string;
  readonly type: number;
  readonly dims: readonly number[];
}

export interface GgufSpec {
  readonly metadata: Readonly<Record<string, Value>>;
  readonly tensors: readonly TensorSpec[];
  readonly version?: number;
  readonly alignment?: number;
}

/** The whole header with its padding, and where each tensor's data begins after it. */
export function ggufHeader(spec: GgufSpec): { readonly header: Buffer; readonly size: number } {
  const alignment = spec.alignment ?? 32;
  const parts: Buffer[] = [Buffer.from('GGUF'), u32(spec.version ?? 3), u64(spec.tensors.length)];
  const entries = Object.entries(spec.metadata);
  parts.push(u64(entries.length), ...entries.flatMap(([key, value]) => [text(key), valueBytes(value)]));
  let offset = 0;
  for (const { name, type, dims } of spec.tensors) {
    parts.push(text(name), u32(dims.length), ...dims.map(u64), u32(type), u64(offset));
    const bytes = tensorBytes(type, dims) ?? 0;
    offset += Math.ceil(bytes / alignment) * alignment;
  }
  const plain = Buffer.concat(parts);
  const padding = Buffer.alloc((alignment - (plain.length % alignment)) % alignment);
  const header = Buffer.concat([plain, padding]);
  return { header, size: header.length + offset };
}

/** Writes the file, folders included; `size` cuts or stretches it. */
export async function writeGguf(path: string, spec: GgufSpec, size?: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const { header, size: whole } = ggufHeader(spec);
  const handle = await open(path, 'w');
  try {
    await handle.write(header);
    await handle.truncate(size ?? whole);
  } finally {
    await handle.close();
  }
}

function valueBytes(value: Value): Buffer {
  if ('u32' in value) return Buffer.concat([u32(4), u32(value.u32)]);
  if ('f32' in value) return Buffer.concat([u32(6), f32(value.f32)]);
  if ('bool' in value) return Buffer.concat([u32(7), Buffer.from([value.bool ? 1 : 0])]);
  if ('text' in value) return Buffer.concat([u32(8), text(value.text)]);
  if ('u32s' in value) return array(4, value.u32s.map(u32));
  if ('i32s' in value) return array(5, value.i32s.map(i32));
  if ('f32s' in value) return array(6, value.f32s.map(f32));
  if ('bools' in value)
    return array(
      7,
      value.bools.map((one) => Buffer.from([one ? 1 : 0])),
    );
  return array(8, value.texts.map(text));
}

function array(type: number, elements: readonly Buffer[]): Buffer {
  return Buffer.concat([u32(9), u32(type), u64(elements.length), Buffer.concat(elements)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
