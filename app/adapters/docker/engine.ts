/**
 * The Containers port on one engine: wires the parts together.
 */
import { randomInt } from 'node:crypto';
import { AppError } from '../../errors.ts';
import type { Containers, ContainersInput } from '../../ports.ts';
import { adoptInstance } from './adopt.ts';
import type { EngineFacts } from './api.ts';
import { dockerApi } from './api.ts';
import { cardMeter } from './card-meter.ts';
import type { EngineContext } from './context.ts';
import { examined } from './evidence.ts';
import { following } from './following.ts';
import { smiAccess } from './gpu-access.ts';
import { guarded } from './guarded.ts';
import { harm } from './harm.ts';
import { holders } from './holder.ts';
import { missingImages } from './images.ts';
import { modelsMount } from './models-mount.ts';
import type { DockerOptions, EngineConfig } from './options.ts';
import { TIMING } from './options.ts';
import { others } from './others.ts';
import { PORTS, portAllocator } from './port-allocator.ts';
import { presence } from './presence.ts';
import { notStarted, registry } from './registry.ts';
import { removeContainer, removeInstance } from './remove.ts';
import { servicesMemory } from './services-memory.ts';
import { startInstance } from './start.ts';
import type { Self } from './whoami.ts';
import { appLabels, networkPlan } from './whoami.ts';

export interface EngineContainers extends Omit<Containers, 'open'> {
  open(): Promise<void>;
  has(instance: string): boolean;
}

export function engineContainers(
  engine: string,
  { socket }: EngineConfig,
  options: DockerOptions,
  report: (input: ContainersInput) => void,
): EngineContainers {
  const { clock, log } = options;
  const timing = { ...TIMING, ...options.timing };
  const owner = { home: options.home, owner: options.owner, engine };
  const api = dockerApi(socket, clock, timing.call);
  const change = guarded(api, options.owner, () => appLabels(connected?.self ?? null));
  let connected: { readonly facts: EngineFacts; readonly self: Self | null } | undefined;
  const now = () => {
    if (connected === undefined) throw new AppError('docker_unreachable', 'the engine is not reached');
    return connected;
  };
  const plan = () => networkPlan(options.network, now().self, owner);
  const { home } = options;
  const image = () => options.images().holder;
  const self = () => connected?.self?.id ?? null;
  const present = presence({ home, engine, api, change, clock, log, self });
  const context: EngineContext = {
    owner,
    api,
    change,
    clock,
    log,
    timing,
    report,
    doubt: () => parts.doubt(),
    registry: registry(),
    ports: portAllocator(timing.portRest, randomInt(PORTS)),
    presence: present,
    images: missingImages({
      clock,
      pause: timing.image,
      has: api.hasImage,
      engine,
      configured: options.images,
      report,
      changed: () => parts.imagesChanged(),
    }),
    meter: cardMeter({
      owner,
      api,
      change,
      clock,
      log,
      report,
      access: smiAccess(),
      image: () => options.images().cards(engine),
    }),
    holders: holders({ owner, image, api, change, log, network: plan, taken: present.keep }),
    facts: () => now().facts,
    modelsMount: () => {
      const { self, facts } = now();
      const { here, onHost } = options.models;
      return modelsMount(here, onHost, self?.mounts ?? null, facts.subpath);
    },
  };
  const parts = following(context, options, {
    connected: (facts, self) => {
      connected = { facts, self };
    },
    lost: () => {
      connected = undefined;
    },
    socket,
  });

  const { registry: instances } = context;
  return {
    open: parts.open,
    has: (instance) => instances.get(instance) !== undefined,
    start: (it) => startInstance(context, it),
    adopt: (instance, container, profile) => adoptInstance(context, instance, container, profile),
    address(instance) {
      const entry = instances.get(instance);
      return entry?.phase === 'ready' ? (entry.address ?? undefined) : undefined;
    },
    async examine(instance) {
      const entry = instances.get(instance);
      return entry === undefined ? notStarted('no such instance') : examined(context, entry);
    },
    async remove(instance, how) {
      const entry = instances.get(instance);
      if (entry !== undefined) await removeInstance(context, entry, how);
    },
    removeContainer: (_engine, container) => removeContainer(context, container),
    async harm(instance, how) {
      const container = instances.get(instance)?.container ?? null;
      if (container === null) throw new AppError('not_possible', 'the instance has no container');
      await harm(context, container, how);
    },
    others: () => others(api, owner, self()),
    devices: [{ cards: async () => context.meter.readings.recent(), fresh: context.meter.readings.fresh }],
    servicesMemory: () => servicesMemory(api, options.owner, self()),
    async close(how) {
      context.images.close();
      await context.meter.close();
      await parts.close();
      present.close();
      if (how.holders && connected !== undefined) await context.holders.removeAll();
    },
  };
}
