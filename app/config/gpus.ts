/** Which GPUs may be used: as configured, or as detected. */
import type { Gpu, GpuKind, Problem } from '../core/types.ts';
import type { GpuConfig } from './schema-machine.ts';
import type { Config } from './secrets.ts';

/** VRAM left alone where the configuration says `auto`. */
export const AUTO_HEADROOM = 512 * 2 ** 20;

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

/**
 * `auto`: what was detected, but for GPUs that share the memory of the machine: beside a card of its own
 * such a GPU is left out; alone it is offered by a problem, since it gains little and takes RAM.
 */
export function chooseGpus(config: Config, detected: readonly Gpu[]): ChosenGpus {
  if (config.gpus !== 'auto') {
    return { gpus: config.gpus.map((gpu) => configured(gpu, config, detected)), problems: [] };
  }
  const dedicated = detected.filter((gpu) => gpu.memory === 'dedicated');
  if (dedicated.length > 0) return { gpus: dedicated, problems: [] };
  return { gpus: [], problems: detected.slice(0, 1).map(offered) };
}

function configured(gpu: GpuConfig, config: Config, detected: readonly Gpu[]): Gpu {
  const engine = gpu.engine ?? firstEngine(config);
  const devices = gpu.devices ?? [FIRST_DEVICE[gpu.kind]];
  const seen = detected.find(
    (other) => other.engine === engine && other.devices.some((name) => devices.includes(name)),
  );
  const memory =
    gpu.memory === 'auto' ? (seen?.memory ?? (gpu.kind === 'intel' ? 'shared' : 'dedicated')) : gpu.memory;
  const headroom = gpu.headroom === 'auto' ? AUTO_HEADROOM : gpu.headroom;
  const { name, kind, env } = gpu;
  return { name, kind, engine, devices, env, memory, total: seen?.total ?? null, headroom };
}

/** The engine of what names none. */
export function firstEngine(config: Config): string {
  const names = Object.keys(config.engines);
  return names.includes('local') ? 'local' : (names[0] ?? 'local');
}

function offered(gpu: Gpu): Problem {
  return {
    code: 'gpu_not_used',
    text: `The GPU ${gpu.name} was found but is not used: it shares the memory of the machine, so it is seldom faster than the CPU.`,
    fix: `To use it, write in llamastead.yaml: gpus: [{name: ${gpu.name}, kind: ${gpu.kind}, memory: shared}]. To leave it: gpus: [].`,
    params: { gpu: gpu.name, kind: gpu.kind },
  };
}

/**
 * The GPU for a placement: the first, or those that `devices` names (by their name, or by llama.cpp's name
 * of a device) as one. Null where there is none; `expected` where a name is wrong.
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
  const named = gpus.find((gpu) => gpu.name === device);
  if (named !== undefined) return named;
  const holder = gpus.find((gpu) => gpu.devices.includes(device));
  return holder === undefined ? null : { ...holder, devices: [device] };
}

function join(a: Gpu, b: Gpu): { readonly gpu: Gpu } | { readonly expected: string } {
  if (a.kind !== b.kind || a.engine !== b.engine) return { expected: 'GPUs of one kind and one engine' };
  return {
    gpu: {
      ...a,
      name: a.name === b.name ? a.name : `${a.name}+${b.name}`,
      devices: [...new Set([...a.devices, ...b.devices])],
      env: { ...a.env, ...b.env },
      total: a.total === null || b.total === null || a.name === b.name ? a.total : a.total + b.total,
    },
  };
}
