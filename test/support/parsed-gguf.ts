/**
 * What the reader would say of a file, made without one.
 */
import { type Gguf, type GgufValue, tensorBytes } from '../../app/core/gguf-types.ts';
import type { GgufSpec, Value } from './gguf-writer.ts';

export function parsed(spec: GgufSpec): Gguf {
  const tensors = spec.tensors.map((tensor) => {
    const bytes = tensorBytes(tensor.type, tensor.dims);
    if (bytes === undefined) throw new Error(`no size for ${tensor.name}`);
    return { ...tensor, bytes };
  });
  return {
    metadata: new Map(Object.entries(spec.metadata).map(([key, value]) => [key, plain(value)])),
    tensors,
    size: tensors.reduce((total, { bytes }) => total + bytes, 0),
  };
}

function plain(value: Value): GgufValue {
  if ('u32' in value) return value.u32;
  if ('f32' in value) return value.f32;
  if ('bool' in value) return value.bool;
  if ('text' in value) return value.text;
  if ('u32s' in value) return value.u32s;
  if ('i32s' in value) return value.i32s;
  if ('bools' in value) return value.bools.map(Number);
  if ('f32s' in value) return { count: value.f32s.length };
  return { count: value.texts.length };
}
