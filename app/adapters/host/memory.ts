/**
 * The host's memory as the kernel tells it. /proc/meminfo shows the host's figures inside a container too.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type PagingCounters,
  type Pressure,
  parseMeminfo,
  parsePressure,
  parseVmstat,
} from '../../core/host-memory.ts';
import { AppError, systemCode } from '../../errors.ts';
import type { Host } from '../../ports.ts';

/** What the memory guard reads beside the sizes. */
export interface MemoryPressure {
  /** Null where the kernel has no PSI. */
  readonly pressure: Pressure | null;
  readonly paging: PagingCounters | null;
}

/**
 * Reads the host's memory anew at each call. `proc` is another mount of procfs (tests). A sample rejects with
 * AppError `host_unreadable` where the kernel's figures are missing.
 */
export function host({ proc = '/proc' }: { readonly proc?: string } = {}): Host & {
  pressure(): Promise<MemoryPressure>;
} {
  return {
    async sample() {
      const file = join(proc, 'meminfo');
      const [meminfo, arcstats] = await Promise.all([
        readOptional(file),
        readOptional(join(proc, 'spl/kstat/zfs/arcstats')),
      ]);
      const memory = meminfo === null ? undefined : parseMeminfo(meminfo, arcstats);
      if (memory === undefined)
        throw new AppError('host_unreadable', `${file} has no MemTotal and MemAvailable`);
      return memory;
    },
    async pressure() {
      const [psi, vmstat] = await Promise.all([
        readOptional(join(proc, 'pressure/memory')),
        readOptional(join(proc, 'vmstat')),
      ]);
      return {
        pressure: psi === null ? null : (parsePressure(psi) ?? null),
        paging: vmstat === null ? null : (parseVmstat(vmstat) ?? null),
      };
    },
  };
}

/** Absent, switched off (EOPNOTSUPP) or forbidden: null. */
async function readOptional(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (systemCode(error) !== undefined) return null;
    throw error;
  }
}
