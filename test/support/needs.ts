/**
 * What models of well-known shapes need, by the estimate.
 */
import type { Gguf } from '../../app/core/gguf-types.ts';
import { needOf } from '../../app/core/need.ts';
import type { Need, NeedPart, Profile } from '../../app/core/types.ts';
import { modelSpec, type Shape } from './gguf-shapes.ts';
import { parsed } from './parsed-gguf.ts';
import { profileOf } from './profiles.ts';

export const MIB = 1024 * 1024;

/** By their dimensions: vocabularies take their time. */
const files = new Map<string, Gguf>();

/** The file of a shape, as a reader would give it. */
export function fileOf(shape: Shape): Gguf {
  const key = JSON.stringify(shape);
  const file = files.get(key) ?? parsed(modelSpec(shape));
  files.set(key, file);
  return file;
}

/** Of a model without a projector. */
export function needFor(shape: Shape, change: Partial<Profile> = {}): Need {
  return needOf({ gguf: fileOf(shape), projector: null, profile: profileOf(change) });
}

/** Of all parts of one kind on one device. */
export function bytesOf(need: Need, device: string, what: NeedPart['what']): number {
  return need.parts
    .filter((part) => part.device === device && part.what === what)
    .reduce((total, { bytes }) => total + bytes, 0);
}
