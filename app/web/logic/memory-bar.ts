/**
 * The memory bar: parts that always sum to the total. MemAvailable counts mapped model weights as available
 * although the models' own figures hold them too; what is counted twice comes off "free", then off "kept".
 */
import type { GpuView, InstanceView, MemoryView } from '../../core/view.ts';

export type PartKind = 'system' | 'services' | 'model' | 'free' | 'kept';

export interface Part {
  readonly kind: PartKind;
  readonly bytes: number;
  /** Of a model's piece: which model, and its number in bar and legend from 1. */
  readonly model: string | null;
  readonly number: number | null;
}

export interface Bar {
  readonly total: number;
  readonly parts: readonly Part[];
  /** Services were not measured: they are inside `system`. */
  readonly servicesUnknown: boolean;
}

const part = (kind: PartKind, bytes: number): Part => ({ kind, bytes, model: null, number: null });

/**
 * Bar of the host's RAM, left to right. `system` = total - available - services - models, `free` =
 * min(budget - models, available - reserve), `kept` = the rest.
 */
export function ramBar(memory: MemoryView, instances: readonly InstanceView[]): Bar {
  const total = memory.total;
  const models = clamp(memory.models, 0, total);
  const services = clamp(memory.services ?? 0, 0, total - models);
  const used = total - clamp(memory.available, 0, total);
  const counted = models + services;
  const system = clamp(used - counted, 0, total - counted);
  const twice = Math.max(0, counted - used);
  const room = Math.min(memory.budget - models, memory.available - memory.reserve);
  const rest = total - system - counted;
  const free = clamp(Math.max(0, room) - twice, 0, rest);
  const parts = [
    part('system', system),
    part('services', services),
    ...pieces(models, instances, (instance) => instance.memory),
    part('free', free),
    part('kept', rest - free),
  ];
  return { total, parts: parts.filter((p) => p.bytes > 0), servicesUnknown: memory.services === null };
}

/** Bar of a GPU with memory of its own, with what other programs take where that is known; null where its size is not known or it shares the host's. */
export function gpuBar(gpu: GpuView, instances: readonly InstanceView[]): Bar | null {
  if (gpu.total === null || gpu.memory === 'shared') return null;
  const models = clamp(gpu.models, 0, gpu.total);
  const others = clamp((gpu.used ?? 0) - models, 0, gpu.total - models);
  const kept = clamp(gpu.headroom, 0, gpu.total - models - others);
  const parts = [
    part('system', others),
    ...pieces(models, instances, (instance) => instance.measured?.vram ?? 0),
    part('free', gpu.total - models - others - kept),
    part('kept', kept),
  ];
  return { total: gpu.total, parts: parts.filter((p) => p.bytes > 0), servicesUnknown: false };
}

/** One piece an instance where their figures make up the whole, else one piece for all models. */
function pieces(
  models: number,
  instances: readonly InstanceView[],
  size: (instance: InstanceView) => number,
): readonly Part[] {
  const sized = instances
    .map((instance) => ({ model: instance.model, bytes: size(instance) }))
    .filter((piece) => piece.bytes > 0);
  const sum = sized.reduce((total, piece) => total + piece.bytes, 0);
  if (sum !== models) return [part('model', models)];
  return sized.map((piece, i) => ({ kind: 'model', bytes: piece.bytes, model: piece.model, number: i + 1 }));
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), Math.max(low, high));
}
