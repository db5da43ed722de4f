/**
 * The graphics cards of this machine, from sysfs and the NVIDIA driver's files; both show the host's devices
 * inside a container too.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Card, type DetectedGpu, judgeCards } from '../../core/gpu-detection.ts';
import { optional } from './optional.ts';

export interface GpuSources {
  readonly sys?: string;
  readonly proc?: string;
  /** The Docker engine whose machine this is. */
  readonly engine?: string;
}

/** Every graphics card with a verdict; none where the machine has no PCI bus. Never rejects for a missing file. */
export async function detectGpus({
  sys = '/sys',
  proc = '/proc',
  engine = 'local',
}: GpuSources = {}): Promise<readonly DetectedGpu[]> {
  const bus = join(sys, 'bus/pci/devices');
  const [addresses, hasKfd] = await Promise.all([list(bus), exists(join(sys, 'class/kfd'))]);
  const cards = await Promise.all(addresses.map((pci) => readCard(bus, proc, pci)));
  return judgeCards(
    cards.filter((card) => card !== undefined),
    { hasKfd, engine },
  );
}

const DISPLAY_CLASS = '0x03';

async function readCard(bus: string, proc: string, pci: string): Promise<Card | undefined> {
  const file = (name: string) => read(join(bus, pci, name));
  const deviceClass = await file('class');
  if (!deviceClass?.startsWith(DISPLAY_CLASS)) return undefined;
  const nodes = await list(join(bus, pci, 'drm'));
  const card = nodes.find((name) => /^card\d+$/.test(name)) ?? '';
  const [vendor, device, uevent, vram, lmem, vramVendor, information] = await Promise.all([
    file('vendor'),
    file('device'),
    file('uevent'),
    file('mem_info_vram_total'),
    file(join('drm', card, 'lmem_total_bytes')),
    file('mem_info_vram_vendor'),
    read(join(proc, 'driver/nvidia/gpus', pci, 'information')),
  ]);
  return {
    pci,
    vendor: Number(vendor ?? 0),
    device: Number(device ?? 0),
    driver: information === null ? (/^DRIVER=(.+)$/m.exec(uevent ?? '')?.[1] ?? null) : 'nvidia',
    nodes: nodes.filter((name) => /^(card|renderD)\d+$/.test(name)),
    vram: bytesOf(vram ?? lmem),
    vramVendor,
    model: /^Model:\s*(.+?)\s*$/m.exec(information ?? '')?.[1] ?? null,
  };
}

function bytesOf(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}

async function read(file: string): Promise<string | null> {
  return (await optional(readFile(file, 'utf8')))?.trim() ?? null;
}

async function list(folder: string): Promise<readonly string[]> {
  return (await optional(readdir(folder))) ?? [];
}

async function exists(file: string): Promise<boolean> {
  return (await optional(stat(file))) !== null;
}
