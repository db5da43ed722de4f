/** Small policies for tests of the core: two placements, a GPU that has memory of its own or shares the host's. */
import type { Gpu, HostMemory, Model, Need, Placement, Policy, Profile } from '../../app/core/types.ts';

export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

export const GPU: Gpu = {
  name: 'card',
  kind: 'vulkan',
  engine: 'local',
  devices: ['Vulkan0'],
  env: {},
  memory: 'dedicated',
  total: 8 * GIB,
  headroom: 512 * MIB,
  cards: {},
};

export function profile(model: string, placement: Placement, more: Partial<Profile> = {}): Profile {
  return {
    placement,
    engine: 'local',
    image: `llama:${placement}`,
    file: `${model}.gguf`,
    projector: null,
    task: 'chat',
    context: 2048,
    parallel: 2,
    threads: 1,
    env: {},
    gpu: placement === 'cpu' ? null : GPU,
    standby: 'cold',
    hash: `${model}-${placement}`,
    ...more,
  };
}

export function model(name: string, more: Partial<Model> = {}): Model {
  return {
    name,
    displayName: name,
    aliases: [],
    task: 'chat',
    placements: ['gpu', 'cpu'],
    profiles: { gpu: profile(name, 'gpu'), cpu: profile(name, 'cpu') },
    idleUnloadMs: 600_000,
    keepLoaded: false,
    mode: 'auto',
    ...more,
  };
}

export function policy(models: readonly Model[], more: Partial<Policy> = {}): Policy {
  return {
    home: 'home',
    models: new Map(models.map((each) => [each.name, each])),
    gpus: [GPU],
    memory: { reserve: 'auto', budget: 'auto' },
    queue: { depth: 32, deadlineMs: 300_000 },
    failover: { resume: 'same-file', returnAfterMs: 30_000 },
    shutdown: { instances: 'stop', graceMs: 25_000 },
    ...more,
  };
}

export function need(ram: number, vram = 0): Need {
  return {
    ram,
    mapped: 0,
    vram: vram === 0 ? {} : { Vulkan0: vram },
    parts: [{ device: 'host', what: 'weights', bytes: ram, source: 'gguf' }],
  };
}

export function host(available: number, total = 16 * GIB): HostMemory {
  return { total, available, swapTotal: 0, swapFree: 0, services: null, cards: {} };
}
