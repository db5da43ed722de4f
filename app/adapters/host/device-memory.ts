/**
 * What graphics cards say of their memory. amdgpu tells each card's size and use in sysfs, which shows the host's
 * devices inside a container too. NVIDIA's and Intel's drivers tell the use only to their own tools.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CardMemory } from '../../core/types.ts';
import { systemCode } from '../../errors.ts';
import type { DeviceMemory } from '../../ports.ts';

/** `sys` is another mount of sysfs (tests). Never rejects for a file that is absent or refused. */
export function deviceMemory({ sys = '/sys' }: { readonly sys?: string } = {}): DeviceMemory {
  const bus = join(sys, 'bus/pci/devices');

  async function cards(): Promise<Readonly<Record<string, CardMemory>>> {
    const devices = (await optional(readdir(bus))) ?? [];
    const told = await Promise.all(
      devices.map(async (pci) => [pci, await readCard(join(bus, pci))] as const),
    );
    return Object.fromEntries(
      told.flatMap(([pci, memory]) => (memory === null ? [] : [[pci, memory] as const])),
    );
  }

  return {
    cards,
    fresh: cards,
  };
}

/** Null: it does not tell both. */
async function readCard(folder: string): Promise<CardMemory | null> {
  const used = await bytesIn(join(folder, 'mem_info_vram_used'));
  const total = used === null ? null : await bytesIn(join(folder, 'mem_info_vram_total'));
  return used === null || total === null ? null : { total, used };
}

async function bytesIn(file: string): Promise<number | null> {
  const text = await optional(readFile(file, 'utf8'));
  return text !== null && /^\d+\s*$/.test(text) ? Number(text) : null;
}

async function optional<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (thrown) {
    if (systemCode(thrown) !== undefined) return null;
    throw thrown;
  }
}
