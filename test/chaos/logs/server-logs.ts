/** Keeps of each llama-server's log what tells of its generations: the log goes with its container. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Docker } from '../../home/lib/docker.ts';
import { type Generation, generationsOf, tells } from './generations.ts';

export interface ServerLogs {
  /** Starts to follow the containers that are not followed yet. */
  follow(containers: readonly string[]): void;
  /** All generations that were told of so far. */
  generations(): readonly Generation[];
  close(): void;
}

export function serverLogs(docker: Docker): ServerLogs {
  const logs = new Map<string, string[]>();
  const children: ChildProcess[] = [];
  return {
    follow(containers) {
      for (const container of containers) {
        if (logs.has(container)) continue;
        const kept: string[] = [];
        logs.set(container, kept);
        const child = spawn('docker', ['logs', '--follow', '--timestamps', container], {
          env: { ...process.env, DOCKER_HOST: docker.host },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        children.push(child);
        const keep = (line: string) => void (tells(line) && kept.push(line));
        for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', keep);
      }
    },
    generations: () =>
      [...logs].flatMap(([container, lines]) => generationsOf(container, lines, performance.timeOrigin)),
    close() {
      for (const child of children) child.kill('SIGKILL');
    },
  };
}
