/** The memory of the machine and of all its graphics cards, whoever tells of which. */
import { deviceMemory } from '../adapters/host/device-memory.ts';
import { host as hostMemory } from '../adapters/host/memory.ts';
import type { HostMemory } from '../core/types.ts';
import type { Clock, Containers, DeviceMemory, Host } from '../ports.ts';
import { watchedHost } from './host-watch.ts';

export interface MachineMemory {
  /** Alone, without cards and services. */
  readonly memory: Host;
  readonly host: Host;
  readonly devices: DeviceMemory;
}

export function machineMemory(containers: Containers, clock: Clock): MachineMemory {
  const memory = hostMemory();
  const devices = joinedCards([deviceMemory(), ...containers.devices]);
  return { memory, devices, host: watchedHost({ host: memory, devices, containers, clock }) };
}

/** One reading of them all. */
export function joinedCards(sources: readonly DeviceMemory[]): DeviceMemory {
  const joined = async (told: readonly Promise<HostMemory['cards']>[]): Promise<HostMemory['cards']> =>
    Object.assign({}, ...(await Promise.all(told)));
  return {
    cards: () => joined(sources.map((source) => source.cards())),
    fresh: () => joined(sources.map((source) => source.fresh())),
  };
}
