/**
 * Where each tensor of a model lies: the input tensors stay on the host, layers and the output go to the
 * GPU from the last one down.
 */
import type { Gguf, GgufTensor } from './gguf-types.ts';
import { typeName } from './gguf-types.ts';
import type { Launch } from './launch.ts';
import type { ModelShape } from './model-shape.ts';

export interface WeightPlan {
  /** Bytes that the CPU reads from the file as they are. */
  readonly host: number;
  /**
   * Bytes that are rewritten at load into a layout that the CPU reads faster (anonymous memory). Their
   * pages of the file are read once and never again, so they do not count twice.
   */
  readonly repack: number;
  readonly devices: ReadonlyMap<string, number>;
}

/** Looked up by token, never multiplied: llama.cpp keeps them on the CPU. */
const INPUT_TENSORS = /^(token_embd|token_embd_norm|token_types|position_embd|per_layer_token_embd)\./;
/**
 * Types that CPU builds rewrite at load, as measured on x86-64 (AVX-512). ARM rewrites Q5_K, Q6_K and Q8_0
 * too: there `weights` is smaller and `repack` larger by the same bytes.
 */
const REPACKED: ReadonlySet<string | undefined> = new Set(['Q4_0', 'Q4_K', 'Q2_K', 'IQ4_NL', 'MXFP4']);
const REPACKED_ROWS = 8;

/** The bytes of all tensors by where they lie. */
export function weightPlan(gguf: Gguf, shape: ModelShape, launch: Launch): WeightPlan {
  const devices = new Map<string, number>();
  let host = 0;
  let repack = 0;
  for (const tensor of gguf.tensors) {
    const device = deviceOfTensor(tensor, shape.layers.length, launch);
    if (device !== 'host') devices.set(device, (devices.get(device) ?? 0) + tensor.bytes);
    else if (isRepacked(tensor, launch)) repack += tensor.bytes;
    else host += tensor.bytes;
  }
  const outputDevice = deviceOfLayer(shape.layers.length, shape.layers.length, launch);
  if (outputDevice !== 'host') {
    devices.set(outputDevice, (devices.get(outputDevice) ?? 0) + tiedOutput(gguf, shape));
  }
  return { host, repack, devices };
}

/**
 * The device of a layer (0-based; the number of layers itself: the output). The last `gpuLayers` of
 * layers and output are on the GPU; several devices share them in order, evenly.
 */
export function deviceOfLayer(layer: number, layers: number, { gpuLayers, devices }: Launch): string {
  const first = Math.max(layers + 1 - gpuLayers, 0);
  if (layer < first) return 'host';
  const index = Math.floor(((layer - first) * devices.length) / (layers + 1 - first));
  return devices[index] ?? 'host';
}

function deviceOfTensor({ name }: GgufTensor, layers: number, launch: Launch): string {
  if (INPUT_TENSORS.test(name)) return 'host';
  const layer = /^blk\.(\d+)\./.exec(name)?.[1];
  return deviceOfLayer(layer === undefined ? layers : Number(layer), layers, launch);
}

/** A model without `output.weight` uses its token table as output: a GPU gets a copy of it. An encoder has none. */
function tiedOutput(gguf: Gguf, { encoder }: ModelShape): number {
  if (encoder || gguf.tensors.some(({ name }) => name === 'output.weight')) return 0;
  return gguf.tensors.find(({ name }) => name === 'token_embd.weight')?.bytes ?? 0;
}

/** Beside a GPU the CPU's layers lie in memory that the GPU can read, and are not rewritten. */
function isRepacked({ name, type, dims }: GgufTensor, { repack, devices }: Launch): boolean {
  if (!repack || devices.length > 0) return false;
  const rows = dims[1] ?? 1;
  return REPACKED.has(typeName(type)) && rows % REPACKED_ROWS === 0 && !INPUT_TENSORS.test(name);
}
