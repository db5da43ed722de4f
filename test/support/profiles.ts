/**
 * Profiles for tests: a CPU one, changed where a test says so.
 */
import type { Gpu, Profile } from '../../app/core/types.ts';

export const VULKAN: Gpu = {
  name: 'gpu',
  kind: 'vulkan',
  engine: 'local',
  devices: ['Vulkan0'],
  env: {},
  memory: 'shared',
  total: null,
  headroom: 0,
  cards: {},
};

export function profileOf(change: Partial<Profile> = {}): Profile {
  const profile: Profile = {
    placement: 'cpu',
    engine: 'local',
    image: 'llama:cpu',
    file: 'model.gguf',
    projector: null,
    task: 'chat',
    context: 8192,
    parallel: 1,
    threads: 1,
    env: {},
    gpu: null,
    standby: 'cold',
    hash: 'a',
    ...change,
  };
  return profile.placement === 'cpu' || profile.gpu !== null ? profile : { ...profile, gpu: VULKAN };
}
