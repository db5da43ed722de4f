/** Keeps the log of each llama-server: it goes with its container. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Docker } from '../../home/lib/docker.ts';

export interface ServerLogs {
  /** Starts to follow the containers that are not followed yet. */
  follow(containers: readonly string[]): void;
  readonly lines: ReadonlyMap<string, readonly string[]>;
  close(): void;
}

export function serverLogs(docker: Docker): ServerLogs {
  const lines = new Map<string, string[]>();
  const children: ChildProcess[] = [];
  return {
    follow(containers) {
      for (const container of containers) {
        if (lines.has(container)) continue;
        const kept: string[] = [];
        lines.set(container, kept);
        const child = spawn('docker', ['logs', '--follow', container], {
          env: { ...process.env, DOCKER_HOST: docker.host },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        children.push(child);
        for (const stream of [child.stdout, child.stderr]) {
          createInterface(stream).on('line', (line) => kept.push(line));
        }
      }
    },
    lines,
    close() {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}
