/**
 * A newer Docker engine beside the bench's own: Debian's next release in a root folder and a mount namespace,
 * for what must work on both. It shares the machine's network, so it has a bridge of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Bench } from '../../home/bench.ts';
import { contentHash } from '../../home/lib/content-hash.ts';
import { buildImage, type Docker, dockerOn, findImage } from '../../home/lib/docker.ts';
import { benchDir } from '../../home/lib/paths.ts';
import { run } from '../../home/lib/run.ts';

export interface NewerEngine {
  readonly docker: Docker;
  readonly socket: string;
  stop(): Promise<void>;
}

const here = import.meta.dirname;
const folder = join(benchDir, 'newer-engine');
const root = join(folder, 'root');
const data = join(folder, 'data');
const sockets = join(folder, 'sockets');
const log = join(folder, 'dockerd.log');
const socket = join(sockets, 'docker.sock');
const BRIDGE = 'newerbr0';
const BRIDGE_ADDRESS = '172.31.254.1/24';
const START_MS = 120_000;

/** Builds its root once, starts it, and gives it the bench's images. One at a time on a machine. */
export async function startNewerEngine(bench: Bench): Promise<NewerEngine> {
  for (const made of [data, sockets]) mkdirSync(made, { recursive: true });
  await makeRoot(bench);
  await makeBridge();
  const output = openSync(log, 'w');
  const enter = ['-m', 'sh', join(here, 'enter.sh'), root, data, sockets, bench.modelsDir, BRIDGE];
  rmSync(socket, { force: true });
  const daemon = spawn('unshare', enter, { detached: true, stdio: ['ignore', output, output] });
  const ended = once(daemon, 'exit');
  const docker = dockerOn(`unix://${socket}`);
  const stop = async () => {
    daemon.kill('SIGTERM');
    await ended;
    await run('ip', ['link', 'delete', BRIDGE]);
  };
  try {
    await answers(docker, () => daemon.exitCode !== null);
    await copyImages(bench, docker);
  } catch (error) {
    await stop();
    throw error;
  }
  return { docker, socket, stop };
}

/** The bench's images and models, on this engine. */
export function benchOn({ docker, socket }: NewerEngine, bench: Bench): Bench {
  return { ...bench, docker, socket };
}

/** The image's content hash tells whether the root folder is the one that it would give. */
async function makeRoot(bench: Bench): Promise<void> {
  const dockerfile = join(here, 'Dockerfile');
  const hash = contentHash([readFileSync(dockerfile, 'utf8'), bench.base]);
  const mark = join(folder, 'root-of');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === hash) return;
  const name = `llamastead-bench/newer-engine:${hash}`;
  if ((await findImage(bench.docker, name)) === undefined) {
    await buildImage(bench.docker, { name, dockerfile, context: here, args: { BASE: bench.base } }, () => {});
  }
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root);
  const container = await bench.docker.run(['create', name, 'true']);
  const archive = join(folder, 'root.tar');
  await bench.docker.run(['export', '--output', archive, container]);
  await bench.docker.run(['rm', container]);
  await run('tar', ['-x', '-f', archive, '-C', root]);
  rmSync(archive);
  writeFileSync(mark, hash);
}

async function makeBridge(): Promise<void> {
  await run('ip', ['link', 'delete', BRIDGE]).catch(() => undefined);
  await run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  await run('ip', ['address', 'add', BRIDGE_ADDRESS, 'dev', BRIDGE]);
  await run('ip', ['link', 'set', BRIDGE, 'up']);
}

async function answers(docker: Docker, hasEnded: () => boolean): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    try {
      await docker.run(['version', '--format', '{{.Server.Version}}']);
      return;
    } catch (error) {
      if (hasEnded() || performance.now() > deadline) {
        throw new Error(`the newer engine does not answer:\n${readFileSync(log, 'utf8').slice(-2000)}`, {
          cause: error,
        });
      }
      await wait(100);
    }
  }
}

async function copyImages(bench: Bench, docker: Docker): Promise<void> {
  const missing: string[] = [];
  for (const image of Object.values(bench.images)) {
    if ((await findImage(docker, image)) === undefined) missing.push(image);
  }
  if (missing.length === 0) return;
  const archive = join(folder, 'images.tar');
  await bench.docker.run(['save', '--output', archive, ...missing]);
  await docker.run(['load', '--input', archive]);
  rmSync(archive);
}
