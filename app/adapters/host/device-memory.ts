/**
 * What graphics cards say of their memory in files, which show the host's devices inside a container too: amdgpu in
 * sysfs, Intel's own i915 (not the kernel's) beside its card, xe through the dmem controller. NVIDIA's driver tells it
 * only to its own library.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CardMemory, HostMemory } from '../../core/types.ts';
import type { DeviceMemory } from '../../ports.ts';
import { cgroupCards } from './cgroup-memory.ts';
import { optional } from './optional.ts';

/** `sys` is another mount of sysfs (tests). Never rejects for a file that is absent or refused. */
export function deviceMemory({ sys = '/sys' }: { readonly sys?: string } = {}): DeviceMemory {
  const bus = join(sys, 'bus/pci/devices');

  async function cards(): Promise<HostMemory['cards']> {
    const devices = (await optional(readdir(bus))) ?? [];
    const [charged, ...told] = await Promise.all([
      cgroupCards(join(sys, 'fs/cgroup')),
      ...devices.map(async (pci) => [pci, await readCard(join(bus, pci))] as const),
    ]);
    const own = told.flatMap(([pci, memory]) => (memory === null ? [] : [[pci, memory] as const]));
    return { ...charged, ...Object.fromEntries(own) };
  }

  return { cards, fresh: cards };
}

/** Null: it does not tell both. */
async function readCard(folder: string): Promise<CardMemory | null> {
  const used = await bytesIn(join(folder, 'mem_info_vram_used'));
  if (used === null) return readIntel(join(folder, 'drm'));
  const total = await bytesIn(join(folder, 'mem_info_vram_total'));
  return total === null ? null : { total, used };
}

async function readIntel(drm: string): Promise<CardMemory | null> {
  const card = ((await optional(readdir(drm))) ?? []).find((name) => /^card\d+$/.test(name));
  if (card === undefined) return null;
  const total = await bytesIn(join(drm, card, 'lmem_total_bytes'));
  const free = total === null ? null : await bytesIn(join(drm, card, 'lmem_avail_bytes'));
  if (total === null || free === null || total === 0 || free > total) return null;
  return { total, used: total - free };
}

async function bytesIn(file: string): Promise<number | null> {
  const text = await optional(readFile(file, 'utf8'));
  return text !== null && /^\d+\s*$/.test(text) ? Number(text) : null;
}
