/**
 * Readings of the kernel's memory files, as text in and numbers out. Formats: proc(5) and the kernel's
 * Documentation/accounting/psi.rst; all sizes here are bytes, /proc/meminfo counts KiB.
 */
import type { HostMemory } from './types.ts';

/**
 * The host's memory from /proc/meminfo. MemAvailable leaves ZFS's cache out although ZFS gives it back, so
 * what it holds above its own minimum is added where `arcstats` is given. Undefined: no readable totals.
 */
export function parseMeminfo(meminfo: string, arcstats: string | null = null): HostMemory | undefined {
  const values = new Map<string, number>();
  for (const line of meminfo.split('\n')) {
    const [, name, kib] = /^(\w+):\s+(\d+) kB$/.exec(line) ?? [];
    if (name !== undefined) values.set(name, Number(kib) * 1024);
  }
  const total = values.get('MemTotal');
  const available = values.get('MemAvailable');
  if (total === undefined || available === undefined) return undefined;
  return {
    total,
    available: Math.min(available + arcReclaimable(arcstats), total),
    swapTotal: values.get('SwapTotal') ?? 0,
    swapFree: values.get('SwapFree') ?? 0,
    services: null,
    cards: {},
  };
}

/** Bytes that ZFS's cache can give back: its size above its minimum (/proc/spl/kstat/zfs/arcstats). */
function arcReclaimable(arcstats: string | null): number {
  if (arcstats === null) return 0;
  const field = (name: string) => Number(new RegExp(`^${name}\\s+\\d+\\s+(\\d+)$`, 'm').exec(arcstats)?.[1]);
  const reclaimable = field('size') - field('c_min');
  return Number.isFinite(reclaimable) ? Math.max(reclaimable, 0) : 0;
}

/** Share of time (percent) in which tasks waited for memory, over the last 10, 60 and 300 seconds. */
export interface Stall {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  /** Microseconds since boot. */
  readonly total: number;
}

export interface Pressure {
  /** At least one task waited. */
  readonly some: Stall;
  /** All tasks waited; null where the kernel does not say. */
  readonly full: Stall | null;
}

/** /proc/pressure/memory, or undefined where it is not readable as such (PSI switched off). */
export function parsePressure(text: string): Pressure | undefined {
  const some = stallOf(text, 'some');
  return some === undefined ? undefined : { some, full: stallOf(text, 'full') ?? null };
}

function stallOf(text: string, kind: 'some' | 'full'): Stall | undefined {
  const line = new RegExp(
    `^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+) total=(\\d+)$`,
    'm',
  ).exec(text);
  if (line === null) return undefined;
  const [, avg10, avg60, avg300, total] = line;
  return { avg10: Number(avg10), avg60: Number(avg60), avg300: Number(avg300), total: Number(total) };
}

/** Counters since boot from /proc/vmstat. */
export interface PagingCounters {
  /** Pages read back from swap. */
  readonly swappedIn: number;
  /** Page faults that needed a disk. */
  readonly majorFaults: number;
  /** Pages of files that were dropped and read again: thrashing of mapped models. */
  readonly refaults: number;
}

/** Undefined where /proc/vmstat has no `pswpin`. */
export function parseVmstat(text: string): PagingCounters | undefined {
  const field = (name: string) => {
    const value = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  const swappedIn = field('pswpin');
  if (swappedIn === undefined) return undefined;
  return {
    swappedIn,
    majorFaults: field('pgmajfault') ?? 0,
    refaults: field('workingset_refault_file') ?? 0,
  };
}

/** Bytes a second that came back from swap between two readings; 0 where time stood still. */
export function swapInRate(
  before: PagingCounters,
  after: PagingCounters,
  seconds: number,
  pageBytes = 4096,
): number {
  if (seconds <= 0) return 0;
  return (Math.max(after.swappedIn - before.swappedIn, 0) * pageBytes) / seconds;
}
