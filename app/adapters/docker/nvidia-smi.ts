/**
 * What nvidia-smi says of the cards' memory: how it is asked, and a line of its answer. `nvidia-smi --help-query-gpu`:
 * memory sizes are MiB; total is free + used + what the driver keeps for itself, so what is taken is total - free.
 */
import type { CardMemory } from '../../core/types.ts';

const MIB = 1024 * 1024;
/** Between two answers (ms). */
export const SMI_EACH = 2_000;

export const SMI_COMMAND: readonly string[] = [
  'nvidia-smi',
  '--query-gpu=pci.bus_id,memory.total,memory.free',
  '--format=csv,noheader,nounits',
  `--loop-ms=${SMI_EACH}`,
];

export type SmiLine =
  | { readonly kind: 'card'; readonly pci: string; readonly memory: CardMemory }
  /** `never`: this card will not tell; else it may tell the next time. */
  | { readonly kind: 'untold'; readonly pci: string; readonly why: string; readonly never: boolean }
  /** Not of a card: what went wrong, in nvidia-smi's words. */
  | { readonly kind: 'trouble'; readonly text: string };

/** Without memory of its own (GB10, Jetson), or cut into instances (MIG) that hide it from containers. */
const NEVER = /^\[?(N\/A|Not Supported|Insufficient Permissions)\]?$/i;
const BUS_ID = /^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$/i;
const WORDS = /^\[(.+)\]$/;

/** Null for an empty line. */
export function smiLine(line: string): SmiLine | null {
  const text = line.trim();
  if (text === '') return null;
  const [bus = '', ...values] = text.split(',').map((value) => value.trim());
  const pci = sysfsAddress(bus);
  if (pci === null || values.length !== 2) return { kind: 'trouble', text };
  const why = values.find((value) => WORDS.test(value) || NEVER.test(value));
  if (why !== undefined) return { kind: 'untold', pci, why, never: NEVER.test(why) };
  const [total, free] = values.map(bytesOf);
  if (typeof total !== 'number' || typeof free !== 'number' || free > total) return { kind: 'trouble', text };
  if (total === 0) return { kind: 'untold', pci, why: 'it has no memory of its own', never: true };
  return { kind: 'card', pci, memory: { total, used: total - free } };
}

/** `00000000:0A:00.0`, older drivers `0000:0A:00.0`, to sysfs's `0000:0a:00.0`; null where it is no such address. */
function sysfsAddress(bus: string): string | null {
  const [, domain, ...rest] = BUS_ID.exec(bus.toLowerCase()) ?? [];
  const [at, device, part] = rest;
  if (domain === undefined) return null;
  return `${Number.parseInt(domain, 16).toString(16).padStart(4, '0')}:${at}:${device}.${part}`;
}

/** Null where it is not in MiB. */
function bytesOf(value: string): number | null {
  const mib = /^(\d{1,9})( MiB)?$/.exec(value)?.[1];
  return mib === undefined ? null : Number(mib) * MIB;
}
