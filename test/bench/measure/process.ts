/** What a process has used, as Linux tells it (proc(5)). */
import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second on every machine that this runs on. */
const TICKS_A_SECOND = 100;
const KIB = 1024;

/** User and system time so far, seconds. */
export function cpuSeconds(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

export interface MemoryUse {
  /** Bytes. */
  readonly rss: number;
  readonly anonymous: number;
}

export function memoryUse(pid: number): MemoryUse {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * KIB;
  return { rss: bytes('VmRSS'), anonymous: bytes('RssAnon') };
}

/** Bytes that it caused to be written to a disk so far. */
export function diskBytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
}
