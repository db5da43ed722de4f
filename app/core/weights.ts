/**
 * Where each tensor of a model lies: the input tensors stay on the host, layers and the output go to the
 * GPU from the last one down.
 */
import type { Gguf, GgufTensor } from './gguf-types.ts';
import { typeName } from './gguf-types.ts';
import type { Launch } from './launch.ts';
import type { ModelShape } from './model-shape.ts';

export interface WeightPlan {
  /** Bytes of the file that the CPU reads. */
  readonly host: number;
  /** Bytes of those that are copied into a faster layout (anonymous memory). */
  readonly repack: number;
  readonly devices: ReadonlyMap<string, number>;
}

/** Looked up by token, never multiplied: llama.cpp keeps them on the CPU. */
const INPUT_TENSORS = /^(token_embd|token_embd_norm|token_types|position_embd|per_layer_token_embd)\./;
/** Types that CPU builds rewrite at load. */
const REPACKED = new Set(['Q4_0', 'Q4_K', 'Q2_K', 'Q5_K', 'Q6_K', 'Q8_0', 'IQ4_NL', 'MXFP4']);

/** The bytes of all tensors by where they lie. */
export function weightPlan(gguf: Gguf, shape: ModelShape, launch: Launch): WeightPlan {
  const devices = new Map<string, number>();
  let host = 0;
  let repack = 0;
  for (const tensor of gguf.tensors) {
    const device = deviceOfTensor(tensor, shape.layers.length, launch);
    if (device !== 'host') devices.set(device, (devices.get(device) ?? 0) + tensor.bytes);
    else {
      host += tensor.bytes;
      if (launch.repack && isRepacked(tensor)) repack += tensor.bytes;
    }
  }
  const tied = tiedOutput(gguf);
  const outputDevice = deviceOfLayer(shape.layers.length, shape.layers.length, launch);
  if (tied > 0 && outputDevice !== 'host') {
    devices.set(outputDevice, (devices.get(outputDevice) ?? 0) + tied);
  }
  return { host, repack, devices };
}

/**
 * The device of a layer (0-based; the number of layers itself: the output). The last `gpuLayers` of
 * layers and output are on the GPU; several devices share them in order, evenly.
 */
export function deviceOfLayer(layer: number, layers: number, { gpuLayers, devices }: Launch): string {
  const first = Math.max(layers + 1 - gpuLayers, 0);
  if (devices.length === 0 || layer < first) return 'host';
  const onGpu = layers + 1 - first;
  const index = Math.min(Math.floor(((layer - first) * devices.length) / onGpu), devices.length - 1);
  return devices[index] ?? 'host';
}

function deviceOfTensor({ name }: GgufTensor, layers: number, launch: Launch): string {
  if (INPUT_TENSORS.test(name)) return 'host';
  const layer = /^blk\.(\d+)\./.exec(name)?.[1];
  return deviceOfLayer(layer === undefined ? layers : Number(layer), layers, launch);
}

/** A model without `output.weight` uses its token table as output: a GPU gets a copy of it. */
function tiedOutput(gguf: Gguf): number {
  if (gguf.tensors.some(({ name }) => name === 'output.weight')) return 0;
  return gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.bytes ?? 0;
}

function isRepacked({ name, type, dims }: GgufTensor): boolean {
  const type_ = typeName(type);
  if (type_ === undefined || !REPACKED.has(type_)) return false;
  return dims.length >= 2 && !INPUT_TENSORS.test(name);
}
