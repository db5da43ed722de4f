/** The memory of all graphics cards, whoever tells of which. */
import { deviceMemory } from '../adapters/host/device-memory.ts';
import type { HostMemory } from '../core/types.ts';
import type { Containers, DeviceMemory } from '../ports.ts';

/** Of this machine's files, and of those that only a container can ask. */
export function allCards({ devices }: Pick<Containers, 'devices'>): DeviceMemory {
  return joinedCards([deviceMemory(), ...devices]);
}

export function joinedCards(sources: readonly DeviceMemory[]): DeviceMemory {
  const joined = async (told: readonly Promise<HostMemory['cards']>[]): Promise<HostMemory['cards']> =>
    Object.assign({}, ...(await Promise.all(told)));
  return {
    cards: () => joined(sources.map((source) => source.cards())),
    fresh: () => joined(sources.map((source) => source.fresh())),
  };
}
