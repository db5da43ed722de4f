/** A metadata value of the kinds that a model of the bench needs. */
export type Value =
  | { type: 'u32'; value: number }
  | { type: 'f32'; value: number }
  | { type: 'bool'; value: boolean }
  | { type: 'string'; value: string }
  | { type: 'i32s'; value: readonly number[] }
  | { type: 'strings'; value: readonly string[] };

/** One tensor: `shape` starts with the length of a row, `data` is in row order, little-endian. */
export interface Tensor {
  name: string;
  shape: readonly number[];
  format: 'f32' | 'f16';
  data: Uint8Array;
}

const alignment = 32;
/** Type numbers of the GGUF format, version 3 (ggml/docs/gguf.md). */
const typeNumber = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const formatNumber = { f32: 0, f16: 1 } as const;

/** A whole GGUF file, version 3: header, metadata, tensor table, then the tensors, each on a 32-byte boundary. */
export function ggufFile(metadata: Readonly<Record<string, Value>>, tensors: readonly Tensor[]): Uint8Array {
  const entries = Object.entries(metadata);
  const head = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(entries.length)];
  for (const [key, value] of entries) head.push(text(key), encode(value));
  let offset = 0;
  const data: Uint8Array[] = [];
  for (const tensor of tensors) {
    head.push(text(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64));
    head.push(u32(formatNumber[tensor.format]), u64(offset));
    const gap = padding(tensor.data.length);
    data.push(tensor.data, gap);
    offset += tensor.data.length + gap.length;
  }
  const header = Buffer.concat(head);
  return Buffer.concat([header, padding(header.length), ...data]);
}

function encode(value: Value): Buffer {
  switch (value.type) {
    case 'u32':
      return Buffer.concat([u32(typeNumber.u32), u32(value.value)]);
    case 'f32':
      return Buffer.concat([u32(typeNumber.f32), f32(value.value)]);
    case 'bool':
      return Buffer.concat([u32(typeNumber.bool), Buffer.from([value.value ? 1 : 0])]);
    case 'string':
      return Buffer.concat([u32(typeNumber.string), text(value.value)]);
    case 'i32s':
      return array(typeNumber.i32, value.value.map(i32));
    case 'strings':
      return array(typeNumber.string, value.value.map(text));
  }
}

function array(itemType: number, items: readonly Buffer[]): Buffer {
  return Buffer.concat([u32(typeNumber.array), u32(itemType), u64(items.length), ...items]);
}

function padding(length: number): Uint8Array {
  return new Uint8Array((alignment - (length % alignment)) % alignment);
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
