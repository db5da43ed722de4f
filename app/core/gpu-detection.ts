/**
 * From the graphics cards that the kernel shows to the GPUs that instances can be given, with the reason of
 * each verdict. Discrete cards are used; an integrated GPU beside one is hidden; one alone is offered but
 * not switched on, because its memory is the host's RAM and it is often slower than the CPU.
 */
import type { Gpu, GpuKind, Problem } from './types.ts';

const MIB = 1024 * 1024;

/** A card on the PCI bus, as sysfs and the NVIDIA driver describe it. */
export interface Card {
  /** `0000:01:00.0` */
  readonly pci: string;
  /** Numbers as in the PCI id list. */
  readonly vendor: number;
  readonly device: number;
  /** Kernel driver; null: none is bound. */
  readonly driver: string | null;
  /** `card0`, `renderD128`. */
  readonly nodes: readonly string[];
  /** Bytes of its own memory, where the kernel tells. */
  readonly vram: number | null;
  /** amdgpu names the maker of the memory only where the card has its own. */
  readonly vramVendor: string | null;
  /** The product's name, where the driver tells. */
  readonly model: string | null;
}

export interface DetectedGpu {
  readonly gpu: Gpu;
  /**
   * `on`: used without being asked; `offered`: only when the configuration names it; `hidden`: an integrated
   * one beside a discrete card; `unusable`: see `problem`.
   */
  readonly use: 'on' | 'offered' | 'hidden' | 'unusable';
  readonly integrated: boolean;
  readonly pci: string;
  /** Device files that a container needs (`/dev/dri/renderD128`); empty for NVIDIA, which Docker adds itself. */
  readonly nodes: readonly string[];
  /** The verdict in one plain sentence. */
  readonly why: string;
  readonly problem: Problem | null;
  /** Not on the bus at the last look; known from one before. */
  readonly away?: true;
}

interface Maker {
  readonly name: string;
  /** Kernel drivers by which its cards run models. */
  readonly drivers: readonly string[];
}

const INTEL: Maker = { name: 'Intel graphics', drivers: ['i915', 'xe'] };
const NVIDIA: Maker = { name: 'NVIDIA', drivers: ['nvidia'] };
const AMD: Maker = { name: 'AMD graphics', drivers: ['amdgpu'] };

/** By its number in the PCI id list; cards of others run no models. */
const MAKERS: ReadonlyMap<number, Maker> = new Map([
  [0x8086, INTEL],
  [0x10de, NVIDIA],
  [0x1002, AMD],
]);

interface Known extends Card {
  readonly maker: Maker;
}

/** The GPUs to use without being asked. */
export function gpusInUse(detected: readonly DetectedGpu[]): readonly Gpu[] {
  return detected.filter(({ use }) => use === 'on').map(({ gpu }) => gpu);
}

/** Device memory left alone (bytes), where the configuration names none. */
export const GPU_HEADROOM = 512 * MIB;

/** Judges all cards of one machine together. `hasKfd`: ROCm's kernel interface is there. */
export function judgeCards(
  cards: readonly Card[],
  { hasKfd, engine = 'local' }: { readonly hasKfd: boolean; readonly engine?: string },
): readonly DetectedGpu[] {
  const known = cards.flatMap(withMaker).toSorted((a, b) => (a.pci < b.pci ? -1 : 1));
  const working = known.filter((card) => whyUnusable(card) === null);
  const discrete = working.some((card) => !isIntegrated(card));
  const indices = deviceIndices(working, hasKfd, discrete);
  return known.map((card) => judge(card, { hasKfd, engine, discrete, index: indices.get(card) ?? 0 }));
}

function withMaker(card: Card): Known[] {
  const maker = MAKERS.get(card.vendor);
  return maker === undefined ? [] : [{ ...card, maker }];
}

interface Surroundings {
  readonly hasKfd: boolean;
  readonly engine: string;
  readonly discrete: boolean;
  readonly index: number;
}

function judge(card: Known, around: Surroundings): DetectedGpu {
  const integrated = isIntegrated(card);
  const problem = whyUnusable(card);
  const gpu = gpuOf(card, around, integrated);
  const common = { gpu, integrated, pci: card.pci, nodes: nodesOf(card) };
  if (problem !== null) return { ...common, use: 'unusable', why: problem.text, problem };
  if (!integrated) return { ...common, use: 'on', why: 'A graphics card with memory of its own.', problem };
  if (around.discrete) {
    return {
      ...common,
      use: 'hidden',
      why: 'Integrated graphics beside a graphics card: left alone.',
      problem,
    };
  }
  return {
    ...common,
    use: 'offered',
    why: 'Integrated graphics: it uses the host’s RAM and may be slower than the CPU, so it is used only when the configuration names it.',
    problem,
  };
}

function gpuOf(card: Known, { hasKfd, engine, index }: Surroundings, integrated: boolean): Gpu {
  const kind = kindOf(card, hasKfd, integrated);
  const total = integrated ? null : card.vram;
  return {
    name: card.model ?? `${card.maker.name} ${hex(card.device)}`,
    kind,
    engine,
    devices: [`${DEVICE_PREFIX[kind]}${index}`],
    env: kind === 'nvidia' ? { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' } : {},
    memory: integrated ? 'shared' : 'dedicated',
    total,
    headroom: GPU_HEADROOM,
    cards: { [`${DEVICE_PREFIX[kind]}${index}`]: card.pci },
  };
}

const DEVICE_PREFIX: Readonly<Record<GpuKind, string>> = {
  nvidia: 'CUDA',
  amd: 'ROCm',
  intel: 'Vulkan',
  vulkan: 'Vulkan',
};

/** AMD cards need ROCm's kernel interface, and its support of integrated ones is poor: else Vulkan. */
function kindOf({ maker }: Known, hasKfd: boolean, integrated: boolean): GpuKind {
  if (maker === NVIDIA) return 'nvidia';
  if (maker === INTEL) return 'intel';
  return hasKfd && !integrated ? 'amd' : 'vulkan';
}

/** Number of each card among those that its backend will list, in the order of the PCI bus. */
function deviceIndices(
  working: readonly Known[],
  hasKfd: boolean,
  discrete: boolean,
): ReadonlyMap<Known, number> {
  const next = new Map<string, number>();
  const indices = new Map<Known, number>();
  for (const card of working) {
    const integrated = isIntegrated(card);
    if (integrated && discrete) continue;
    const prefix = DEVICE_PREFIX[kindOf(card, hasKfd, integrated)];
    const index = next.get(prefix) ?? 0;
    indices.set(card, index);
    next.set(prefix, index + 1);
  }
  return indices;
}

/** Intel's own graphics sit on the root bus; AMD's have no memory maker; NVIDIA makes none for PCs. */
function isIntegrated({ maker, pci, vramVendor }: Known): boolean {
  if (maker === INTEL) return pci.split(':')[1] === '00';
  if (maker === AMD) return vramVendor === null || vramVendor === 'unknown';
  return false;
}

function nodesOf({ maker, nodes }: Known): readonly string[] {
  return maker === NVIDIA ? [] : nodes.toSorted().map((node) => `/dev/dri/${node}`);
}

function whyUnusable({ maker, driver, pci, model }: Known): Problem | null {
  if (driver !== null && maker.drivers.includes(driver)) return null;
  const name = model ?? `${maker.name} (${pci})`;
  const needed = maker.drivers.join(' or ');
  return {
    code: 'gpu_driver_missing',
    about: pci,
    text:
      driver === null
        ? `The driver of ${name} is not loaded.`
        : `${name} is held by the driver ${driver}, which cannot run models.`,
    fix:
      maker === NVIDIA
        ? 'Install the NVIDIA driver and its container toolkit on the host, then restart it.'
        : `Load the kernel driver ${needed} on the host.`,
    params: { gpu: name, driver: driver ?? '', needed },
  };
}

function hex(value: number): string {
  return value.toString(16).padStart(4, '0');
}
