/** Which GPUs may be used: as configured, or as detected. */
import { type DetectedGpu, GPU_HEADROOM, gpusInUse } from '../core/gpu-detection.ts';
import { joinedName } from '../core/gpu-names.ts';
import { slug } from '../core/slug.ts';
import type { Gpu, GpuKind, Problem } from '../core/types.ts';
import type { GpuConfig } from './schema-machine.ts';
import type { Config } from './secrets.ts';

/** llama.cpp's name of the first device of a kind. */
const FIRST_DEVICE: Readonly<Record<GpuKind, string>> = {
  nvidia: 'CUDA0',
  amd: 'ROCm0',
  intel: 'Vulkan0',
  vulkan: 'Vulkan0',
};

export interface ChosenGpus {
  readonly gpus: readonly Gpu[];
  readonly problems: readonly Problem[];
}

/** `auto`: those that the detection found fit; what it found and did not take is told as a problem. */
export function chooseGpus(config: Config, detected: readonly DetectedGpu[]): ChosenGpus {
  if (config.gpus !== 'auto') {
    return { gpus: config.gpus.map((gpu) => configured(gpu, config, detected)), problems: [] };
  }
  const problems = detected.flatMap((found) => {
    if (found.problem !== null) return [found.problem];
    return found.use === 'offered' ? [offered(found)] : [];
  });
  return { gpus: gpusInUse(detected), problems };
}

/** An integrated one that nobody named is only offered; where some are named, one of no such kind is not used. */
export function cameInUse(came: readonly DetectedGpu[], { gpus }: Config): readonly Gpu[] {
  if (gpus === 'auto') return gpusInUse(came);
  const isNamed = ({ kind }: Gpu): boolean =>
    gpus.some((named) => [kind, 'vulkan'].includes(named.kind) || kind === 'vulkan');
  return came.map(({ gpu }) => gpu).filter(isNamed);
}

function configured(gpu: GpuConfig, config: Config, detected: readonly DetectedGpu[]): Gpu {
  const engine = gpu.engine ?? firstEngine(config);
  const devices = gpu.devices ?? [FIRST_DEVICE[gpu.kind]];
  const seen = devices.map((name) => seenAs(name, engine, detected));
  const byKind = gpu.kind === 'intel' ? 'shared' : 'dedicated';
  const memory = gpu.memory === 'auto' ? (seen[0]?.memory ?? byKind) : gpu.memory;
  const total = memory === 'dedicated' ? sumOf(seen.map((one) => one?.total ?? null)) : null;
  const headroom = gpu.headroom === 'auto' ? GPU_HEADROOM : gpu.headroom;
  const cards = numbersThem(gpu) ? {} : Object.assign({}, ...seen.map((one) => one?.cards));
  // Without it CUDA0 is the fastest card, not the first one on the bus, which it was detected as.
  const env = gpu.kind === 'nvidia' ? { CUDA_DEVICE_ORDER: 'PCI_BUS_ID', ...gpu.env } : gpu.env;
  return { name: gpu.name, kind: gpu.kind, engine, devices, env, memory, total, headroom, cards };
}

/** Variables that choose devices, and thereby number them anew. */
const CHOOSES_DEVICES = /(VISIBLE_DEVICES|DEVICE_ORDINAL|DEVICE_ORDER|DEVICE_SELECTOR|AFFINITY_MASK)$/;

/** As they were detected. */
const isByBus = (name: string, value: string): boolean =>
  name === 'CUDA_DEVICE_ORDER' && value === 'PCI_BUS_ID';

function numbersThem({ env }: GpuConfig): boolean {
  return Object.entries(env).some(([name, value]) => CHOOSES_DEVICES.test(name) && !isByBus(name, value));
}

/** Hidden ones are numbered as if they were alone: their names say nothing here. */
function seenAs(device: string, engine: string, detected: readonly DetectedGpu[]): Gpu | undefined {
  return detected.find(
    ({ use, gpu }) =>
      use !== 'unusable' && use !== 'hidden' && gpu.engine === engine && gpu.devices.includes(device),
  )?.gpu;
}

/** Null where one is not known. */
function sumOf(totals: readonly (number | null)[]): number | null {
  return totals.reduce((sum, each) => (sum === null || each === null ? null : sum + each), 0);
}

/** The engine of what names none. */
export function firstEngine(config: Config): string {
  const names = Object.keys(config.engines);
  return names.includes('local') ? 'local' : (names[0] ?? 'local');
}

function offered({ gpu, why }: DetectedGpu): Problem {
  const entry = `{name: ${slug(gpu.name)}, kind: ${gpu.kind}, memory: ${gpu.memory}}`;
  return {
    code: 'gpu_not_used',
    about: gpu.name,
    text: `${gpu.name} is not used. ${why}`,
    fix: `To use it, write gpus: [${entry}] in llamastead.yaml; to leave it, gpus: [].`,
    params: { gpu: gpu.name, kind: gpu.kind },
  };
}

/**
 * The GPU for a placement: the first, or those that `devices` names (by their name, its slug, or
 * llama.cpp's name of a device) as one. Null where there is none; `expected` where a name is wrong.
 */
export function gpuFor(
  gpus: readonly Gpu[],
  devices: readonly string[] | undefined,
): { readonly gpu: Gpu | null } | { readonly expected: string } {
  if (devices === undefined) return { gpu: gpus[0] ?? null };
  const found = devices.map((device) => narrowed(gpus, device));
  const [first, ...others] = found;
  if (first === undefined || found.includes(null) || first === null) {
    return {
      expected:
        gpus.length === 0
          ? 'GPUs to name: there is none'
          : `names of GPUs: ${gpus.map((gpu) => gpu.name).join(', ')}`,
    };
  }
  return others.reduce<{ gpu: Gpu } | { expected: string }>(
    (joined, other) => ('expected' in joined || other === null ? joined : join(joined.gpu, other)),
    { gpu: first },
  );
}

function narrowed(gpus: readonly Gpu[], device: string): Gpu | null {
  const named = gpus.find((gpu) => gpu.name === device || slug(gpu.name) === device);
  if (named !== undefined) return named;
  const holder = gpus.find((gpu) => gpu.devices.includes(device));
  return holder === undefined ? null : { ...holder, devices: [device] };
}

function join(a: Gpu, b: Gpu): { readonly gpu: Gpu } | { readonly expected: string } {
  if (a.kind !== b.kind || a.engine !== b.engine) return { expected: 'GPUs of one kind and one engine' };
  return {
    gpu: {
      ...a,
      name: joinedName(a.name, b.name),
      devices: [...new Set([...a.devices, ...b.devices])],
      env: { ...a.env, ...b.env },
      cards: { ...a.cards, ...b.cards },
      total: a.total === null || b.total === null || a.name === b.name ? a.total : a.total + b.total,
    },
  };
}
