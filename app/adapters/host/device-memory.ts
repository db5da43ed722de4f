/**
 * What graphics cards say of their memory. amdgpu tells each card's use in sysfs, which shows the host's devices
 * inside a container too. NVIDIA's and Intel's drivers tell it only to their own tools.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../errors.ts';
import type { DeviceMemory } from '../../ports.ts';

/** `sys` is another mount of sysfs (tests). Never rejects for a file that is absent or refused. */
export function deviceMemory({ sys = '/sys' }: { readonly sys?: string } = {}): DeviceMemory {
  const bus = join(sys, 'bus/pci/devices');
  return {
    async used() {
      const cards = await optional(readdir(bus));
      const told = await Promise.all(
        (cards ?? []).map((pci) => optional(readFile(join(bus, pci, 'mem_info_vram_used'), 'utf8'))),
      );
      const bytes = told.flatMap((text) => (text !== null && /^\d+\s*$/.test(text) ? [Number(text)] : []));
      return bytes.length === 0 ? null : bytes.reduce((sum, each) => sum + each, 0);
    },
  };
}

async function optional<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (thrown) {
    if (systemCode(thrown) !== undefined) return null;
    throw thrown;
  }
}
