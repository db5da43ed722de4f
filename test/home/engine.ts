import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Docker, dockerOn } from './lib/docker.ts';
import { benchDir, engineSocket, repository } from './lib/paths.ts';
import type { Step } from './lib/steps.ts';

const log = join(benchDir, 'dockerd.log');
const pidFile = join(benchDir, 'dockerd.pid');
/** Which checkout started the engine. */
const starterFile = join(benchDir, 'dockerd.started-by');
const startDeadlineMs = 30_000;

/** A Docker engine: the one that DOCKER_HOST or the usual socket names, else one of the bench's own. */
export const engineStep: Step<Docker> = {
  name: 'Docker engine',
  advice: `Look at ${log}; or start an engine yourself and set DOCKER_HOST=unix:///PATH.`,
  find: findEngine,
  make: startEngine,
};

/** The socket file of an engine on this machine, to mount into a container. */
export function socketOf(docker: Docker): string {
  if (!docker.host.startsWith('unix://'))
    throw new Error(`the bench needs an engine on a unix socket, not ${docker.host}`);
  return docker.host.slice('unix://'.length);
}

async function findEngine(): Promise<Docker | undefined> {
  const wanted = process.env['DOCKER_HOST'];
  const hosts = wanted === undefined ? ['unix:///var/run/docker.sock', `unix://${engineSocket}`] : [wanted];
  for (const host of hosts) {
    if (host.startsWith('unix://') && !existsSync(host.slice('unix://'.length))) continue;
    const docker = dockerOn(host);
    if (await answers(docker)) return docker;
  }
  return undefined;
}

async function answers(docker: Docker): Promise<boolean> {
  return docker.run(['version', '--format', '{{.Server.Version}}']).then(
    () => true,
    () => false,
  );
}

/** Starts dockerd in a session of its own: it outlives this process and the shell. */
async function startEngine(): Promise<Docker> {
  mkdirSync(join(benchDir, 'exec'), { recursive: true });
  const output = openSync(log, 'w');
  const args = [
    '--data-root',
    join(benchDir, 'docker'),
    '--exec-root',
    join(benchDir, 'exec'),
    '--pidfile',
    pidFile,
  ];
  const child = spawn('dockerd', [...args, '--host', `unix://${engineSocket}`], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  let ended: string | undefined;
  child.once('error', (error) => {
    ended = error.message;
  });
  child.once('exit', (code) => {
    ended = `exit code ${code}`;
  });
  child.unref();
  const docker = await waitUntilItAnswers(() => ended);
  writeFileSync(starterFile, repository);
  // What was left when the engine last ended belongs to nobody any more.
  await docker.run(['container', 'prune', '--force']);
  await docker.run(['network', 'prune', '--force']);
  return docker;
}

/**
 * Stops the bench's engine if this checkout started it and nothing runs on it.
 * @returns whether it was stopped
 */
export async function stopEngineOf(checkout: string, docker: Docker): Promise<boolean> {
  if (docker.host !== `unix://${engineSocket}` || !existsSync(pidFile)) return false;
  if (!existsSync(starterFile) || readFileSync(starterFile, 'utf8') !== checkout) return false;
  if ((await docker.run(['ps', '--quiet'])) !== '') return false;
  process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGTERM');
  // dockerd removes the file as the last thing it does.
  while (existsSync(pidFile)) await pause(100);
  return true;
}

async function waitUntilItAnswers(ended: () => string | undefined): Promise<Docker> {
  const docker = dockerOn(`unix://${engineSocket}`);
  const deadline = performance.now() + startDeadlineMs;
  while (!(await answers(docker))) {
    const end = ended();
    if (end !== undefined) throw new Error(`dockerd ended (${end}):\n${lastLines()}`);
    if (performance.now() > deadline) throw new Error(`dockerd does not answer:\n${lastLines()}`);
    await pause(100);
  }
  return docker;
}

/** The end of its log without what it says in good health too. */
function lastLines(): string {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  return lines
    .filter((line) => !line.includes('level=info'))
    .slice(-10)
    .join('\n');
}
