/**
 * One home on an engine, real or fake, and a view of that engine from outside.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import type { DockerOptions, Timing } from '../../../app/adapters/docker/containers.ts';
import { dockerContainers } from '../../../app/adapters/docker/containers.ts';
import { LABELS } from '../../../app/adapters/docker/names.ts';
import { systemClock } from '../../../app/clock.ts';
import type { InstancePlan } from '../../../app/core/effects.ts';
import type { Gpu, Profile } from '../../../app/core/types.ts';
import type { Containers } from '../../../app/ports.ts';
import type { Reports } from './reports.ts';
import { reports } from './reports.ts';

export interface BenchEngine {
  readonly socket: string;
  readonly images: { readonly cpu: string; readonly vulkan: string };
  /** On the engine's host; holds `tiny.gguf`. */
  readonly modelsFolder: string;
  /** Ends the program in a container from within, as a crash does. */
  crash(container: string): Promise<void>;
}

export interface Home {
  readonly containers: Containers;
  readonly reports: Reports;
  readonly owner: string;
  readonly home: string;
  /** From outside, as `docker` on the command line. */
  readonly docker: Docker;
  /** Another controller of the same home, as after a restart. */
  again(): Home;
  /** Ids of the containers with this home's label. */
  own(): Promise<readonly string[]>;
  /** Everything of this home is gone afterwards. */
  clear(): Promise<void>;
}

const MIB = 1024 * 1024;

export function homeOn(
  engine: BenchEngine,
  more: Partial<DockerOptions> & { timing?: Partial<Timing> } = {},
): Home {
  const owner = more.owner ?? randomUUID();
  const home = more.home ?? `test-${randomBytes(3).toString('hex')}`;
  const told = reports();
  const quiet = { debug() {}, info() {}, warn() {} };
  const containers = dockerContainers({
    engines: { local: { socket: engine.socket } },
    images: () => ({
      holder: engine.images.cpu,
      all: Object.values(engine.images),
      used: () => [],
      cards: () => null,
    }),
    models: { here: engine.modelsFolder, onHost: 'auto' },
    network: 'auto',
    clock: systemClock,
    log: quiet,
    ...more,
    home,
    owner,
  });
  const docker = new Docker({
    socketPath: engine.socket,
    host: undefined,
    port: undefined,
    protocol: 'http',
  });
  const filters = JSON.stringify({ label: [`${LABELS.owner}=${owner}`] });
  const own = async () => (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id);
  return {
    containers,
    reports: told,
    owner,
    home,
    docker,
    own,
    again: () => homeOn(engine, { ...more, owner, home }),
    async clear() {
      // One that still follows the engine would make another holder for the one that it loses.
      await containers.close({ holders: true });
      await Promise.all((await own()).map((id) => docker.getContainer(id).remove({ force: true })));
    },
  };
}

export const SOFTWARE_GPU: Gpu = {
  name: 'software',
  kind: 'vulkan',
  engine: 'local',
  devices: ['Vulkan0'],
  env: { GGML_VK_VISIBLE_DEVICES: '0' },
  memory: 'shared',
  total: null,
  headroom: 0,
  cards: {},
};

export function planFor(
  engine: BenchEngine,
  instance: string,
  profile: Partial<Profile> = {},
  memoryLimit = 700 * MIB,
): InstancePlan {
  return {
    instance,
    model: 'tiny',
    memoryLimit,
    promptCache: 64 * MIB,
    profile: {
      placement: 'cpu',
      engine: 'local',
      image: engine.images.cpu,
      file: 'tiny.gguf',
      projector: null,
      task: 'chat',
      context: 512,
      parallel: 2,
      threads: 1,
      env: {},
      gpu: null,
      standby: 'cold',
      hash: 'abc123',
      ...profile,
    },
  };
}
