/**
 * Memory that an instance takes, from the header of its model file and its profile. Pure; every part says
 * where its figure comes from.
 */
import { computeBytes } from './compute-buffer.ts';
import type { Gguf } from './gguf-types.ts';
import { checkpointBytes, contextBytesByLayer, slotBytes } from './kv-cache.ts';
import { type Launch, launchOf } from './launch.ts';
import { type ModelShape, shapeOf } from './model-shape.ts';
import type { Gpu, Need, NeedPart, Profile } from './types.ts';
import { deviceOfLayer, type WeightPlan, weightPlan } from './weights.ts';

const MIB = 1024 * 1024;

/** Program, libraries, HTTP threads, token tables: what an instance takes beside its model. */
export const BASE_BYTES = 300 * MIB;
/** The most that the host prompt cache gets (`LLAMA_ARG_CACHE_RAM`; whole MiB). */
export const PROMPT_CACHE_CAP = 512 * MIB;
/** Working memory of a projector beside its weights. */
const PROJECTOR_WORK = 256 * MIB;
/** A CUDA or ROCm context takes 107-555 MiB of device memory beside the model. */
const DEVICE_BASE: Readonly<Record<Gpu['kind'], number>> = {
  nvidia: 512 * MIB,
  amd: 512 * MIB,
  intel: 64 * MIB,
  vulkan: 64 * MIB,
};

export interface NeedInput {
  readonly gguf: Gguf;
  /** Null: the model has none. */
  readonly projector: Gguf | null;
  readonly profile: Profile;
}

/** The memory of one instance. `need.ram` is the sum of the parts on `host`. */
export function needOf({ gguf, projector, profile }: NeedInput): Need {
  const launch = launchOf(profile);
  const shape = shapeOf(gguf);
  const weights = weightPlan(gguf, shape, launch);
  const parts = [
    ...weightParts(weights),
    ...contextParts(shape, launch),
    part('host', 'kv', launch.slots * launch.checkpoints * checkpointBytes(shape, launch), 'gguf'),
    ...computeBytes(shape, launch, profile.task).map(({ device, bytes }) =>
      part(device, 'compute', bytes, 'gguf'),
    ),
    ...projectorParts(projector, launch),
    part('host', 'prompt_cache', plannedPromptCache(shape, launch, profile), 'fixed'),
    part('host', 'base', BASE_BYTES, 'fixed'),
    ...deviceBase(profile.gpu, launch),
  ].filter(({ bytes }) => bytes > 0);
  return summed(parts, weights.host);
}

function part(device: string, what: NeedPart['what'], bytes: number, source: NeedPart['source']): NeedPart {
  return { device, what, bytes: Math.ceil(bytes), source };
}

function summed(parts: readonly NeedPart[], mapped: number): Need {
  const vram: Record<string, number> = {};
  let ram = 0;
  for (const { device, bytes } of parts) {
    if (device === 'host') ram += bytes;
    else vram[device] = (vram[device] ?? 0) + bytes;
  }
  return { ram, mapped, vram, parts };
}

function weightParts(plan: WeightPlan): NeedPart[] {
  return [
    part('host', 'weights', plan.host, 'gguf'),
    part('host', 'repack', plan.repack, 'gguf'),
    ...[...plan.devices].map(([device, bytes]) => part(device, 'weights', bytes, 'gguf')),
  ];
}

function contextParts(shape: ModelShape, launch: Launch): NeedPart[] {
  const byDevice = new Map<string, number>();
  for (const [layer, bytes] of contextBytesByLayer(shape, launch).entries()) {
    const device = deviceOfLayer(layer, shape.layers.length, launch);
    byDevice.set(device, (byDevice.get(device) ?? 0) + bytes);
  }
  return [...byDevice].map(([device, bytes]) => part(device, 'kv', bytes, 'gguf'));
}

function projectorParts(projector: Gguf | null, launch: Launch): NeedPart[] {
  if (projector === null) return [];
  const weights = projector.tensors.reduce((total, { bytes }) => total + bytes, 0);
  const device = launch.devices[0] ?? 'host';
  return [part(device, 'projector', weights + PROJECTOR_WORK, 'gguf')];
}

function deviceBase(gpu: Gpu | null, { gpuLayers }: Launch): NeedPart[] {
  if (gpu === null || gpuLayers === 0) return [];
  return gpu.devices.map((device) => part(device, 'base', DEVICE_BASE[gpu.kind], 'fixed'));
}

/** Four whole states are enough for one home; newer servers skip a state that is over the cap. */
function plannedPromptCache(shape: ModelShape, launch: Launch, profile: Profile): number {
  if (profile.task !== 'chat') return 0;
  const state = slotBytes(shape, launch) + launch.checkpoints * checkpointBytes(shape, launch);
  return Math.ceil(Math.min(4 * state, PROMPT_CACHE_CAP) / MIB) * MIB;
}
