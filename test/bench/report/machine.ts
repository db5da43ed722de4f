/** What the figures were measured on. */
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import type { Docker } from '../../home/lib/docker.ts';

export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly docker: string;
  /** Of the last minute before the bench began. */
  readonly loadBefore: number;
}

/** Call it before the work begins. */
export async function machine(docker: Docker): Promise<Machine> {
  return {
    date: new Date().toISOString().slice(0, 16),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    docker: await docker.run(['version', '--format', '{{.Server.Version}}']),
    loadBefore: loadavg()[0] ?? 0,
  };
}

export function described(machine: Machine): string {
  const { date, cpu, cores, memoryGiB, kernel, node, docker, loadBefore } = machine;
  const busy = `load ${loadBefore.toFixed(1)} before it began`;
  return `${date}Z, ${cores} cores (${cpu}), ${memoryGiB} GiB, Linux ${kernel}, Node ${node}, Docker ${docker}; ${busy}`;
}
