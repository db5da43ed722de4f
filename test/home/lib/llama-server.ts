import { setTimeout as pause } from 'node:timers/promises';
import type { Docker } from './docker.ts';

/** A llama-server container that the bench runs by itself, without Llamastead. */
export interface LlamaServer {
  url: string;
  container: string;
  /** From `docker run` to the first good answer of /health, in milliseconds. */
  readyMs: number;
  logs: () => Promise<string>;
  remove: () => Promise<void>;
}

export interface LlamaServerOptions {
  image: string;
  /** A label's name for its container. */
  label: string;
  env: Record<string, string>;
  /** Folder on the host to folder in the container (with `:ro` at its end where it is only read). */
  mounts: Record<string, string>;
}

const readyDeadlineMs = 180_000;

/** Starts a llama-server on a free port of the loopback address and waits until its model is loaded. */
export async function startLlama(docker: Docker, options: LlamaServerOptions): Promise<LlamaServer> {
  const start = performance.now();
  const env = { ...options.env, LLAMA_ARG_PORT: '8080' };
  const container = await docker.run([
    ...['run', '--detach', '--init', '--label', options.label, '--publish', '127.0.0.1::8080'],
    ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
    ...Object.entries(options.mounts).flatMap(([from, to]) => ['--volume', `${from}:${to}`]),
    options.image,
  ]);
  const server = {
    container,
    logs: () => docker.run(['logs', container]),
    remove: async () => {
      await docker.run(['rm', '--force', '--volumes', container]);
    },
  };
  try {
    const address = (await docker.run(['port', container, '8080'])).split('\n')[0];
    const url = `http://${address}`;
    await untilHealthy(docker, container, url, start + readyDeadlineMs);
    return { ...server, url, readyMs: Math.round(performance.now() - start) };
  } catch (error) {
    await server.remove();
    throw error;
  }
}

async function untilHealthy(docker: Docker, container: string, url: string, deadline: number): Promise<void> {
  for (;;) {
    const healthy = await fetch(`${url}/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (healthy) return;
    const running = await docker.run(['inspect', '--format', '{{.State.Running}}', container]);
    if (running !== 'true' || performance.now() > deadline) {
      throw new Error(`llama-server did not get ready:\n${await lastLog(docker, container)}`);
    }
    await pause(50);
  }
}

async function lastLog(docker: Docker, container: string): Promise<string> {
  const lines: string[] = [];
  await docker.run(['logs', '--tail', '15', container], { onLine: (line) => lines.push(line) });
  return lines.join('\n');
}
