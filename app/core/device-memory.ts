/** What is known of a device's free memory: an unknown server error is taken for a lack of it where it is low. */
import type { Instance } from './instance.ts';
import type { State } from './state.ts';
import type { CardMemory, Gpu, HostMemory, Now } from './types.ts';

/** The host is read more often than this (ms): an older reading says nothing of now. */
const KNOWN_MS = 30_000;

/** Whether a reading can tell it: a shared device's is the host's, a card's where its driver told it before. */
export function tellsMemory(state: State, { profile: { gpu } }: Instance): boolean {
  if (gpu === null || state.host === null) return false;
  return gpu.memory === 'shared' || cardsOf(state.host.memory, gpu).length > 0;
}

/** Whether less of it is free than the device's headroom, by the last reading; false where nothing tells. */
export function isDeviceLow(state: State, { profile: { gpu } }: Instance, now: Now): boolean {
  const { host } = state;
  if (gpu === null || host === null || now.mono - host.at > KNOWN_MS) return false;
  if (gpu.memory === 'shared') return host.memory.available < gpu.headroom;
  return cardsOf(host.memory, gpu).some(({ total, used }) => total - used < gpu.headroom);
}

/** Size and use of a GPU's own memory, summed over its cards, by the last reading; null where not each of them tells. */
export function ownMemory({ host }: State, gpu: Gpu): CardMemory | null {
  if (host === null || gpu.memory === 'shared') return null;
  const told = cardsOf(host.memory, gpu);
  if (told.length === 0 || told.length < gpu.devices.length) return null;
  return told.reduce((sum, { total, used }) => ({ total: sum.total + total, used: sum.used + used }));
}

function cardsOf(memory: HostMemory, { devices, cards }: Gpu): readonly CardMemory[] {
  return devices.flatMap((device) => cards[device] ?? []).flatMap((pci) => memory.cards[pci] ?? []);
}
