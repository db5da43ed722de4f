/**
 * What the kernel's dmem controller (6.14 and later) tells of graphics memory: the size of each region in the root
 * cgroup, what is charged in each cgroup below. Intel's xe charges there; a container sees the root only in the host's
 * cgroup namespace. Format: Documentation/admin-guide/cgroup-v2.rst, "DMEM".
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostMemory } from '../../core/types.ts';
import { optional } from './optional.ts';

/** `drm/0000:03:00.0/vram0 8514437120`: region and bytes. The card's own, not `stolen`, `mapped`, `gtt`. */
const REGION = /^drm\/([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\/vram\d* (\d+)$/;

type Bytes = ReadonlyMap<string, number>;

/** By PCI address; `cgroup` is where cgroup2 is mounted. Never rejects for a file that is absent or refused. */
export async function cgroupCards(cgroup: string): Promise<HostMemory['cards']> {
  const sizes = await regionsIn(join(cgroup, 'dmem.capacity'));
  if (sizes === null || sizes.size === 0) return {};
  const entries = (await optional(readdir(cgroup, { withFileTypes: true }))) ?? [];
  const groups = entries.filter((entry) => entry.isDirectory());
  const charged = await Promise.all(groups.map(({ name }) => regionsIn(join(cgroup, name, 'dmem.current'))));
  const told = charged.filter((group) => group !== null);
  // The controller is on for all of them or for none: then nothing says what is charged.
  if (told.length === 0) return {};
  return Object.fromEntries(
    [...sizes].map(([pci, total]) => [pci, { total, used: Math.min(total, sumOf(told, pci)) }]),
  );
}

function sumOf(groups: readonly Bytes[], pci: string): number {
  return groups.reduce((sum, group) => sum + (group.get(pci) ?? 0), 0);
}

/** Bytes by PCI address, the regions of one card together; null: no such file. */
async function regionsIn(file: string): Promise<Bytes | null> {
  const text = await optional(readFile(file, 'utf8'));
  if (text === null) return null;
  const bytes = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, pci, size] = REGION.exec(line) ?? [];
    if (pci !== undefined) bytes.set(pci, (bytes.get(pci) ?? 0) + Number(size));
  }
  return bytes;
}
