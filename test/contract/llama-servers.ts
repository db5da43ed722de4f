/** Real llama-servers on the bench's engine, for tests of the model API. */

import { ensureBench } from '../home/bench.ts';
import type { Docker } from '../home/lib/docker.ts';
import { type Generations, generationsOf } from '../support/llama-log.ts';
import { get } from '../support/raw-client.ts';

export const KEY = 'contract-key';

export interface Server {
  readonly name: string;
  readonly host: string;
}

export interface ServerOptions {
  /** Below the bench's models; the tiny one where not given. */
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of `docker run`. */
  readonly limits?: readonly string[];
}

export interface Servers {
  readonly docker: Docker;
  readonly chatFile: string;
  /** Resolves when it runs, before it is ready. */
  start(name: string, options?: ServerOptions): Promise<Server>;
  remove(server: Server): Promise<void>;
  removeAll(): Promise<void>;
}

/** `label` tells the containers of one test file from all others; those that are left are removed first. */
export async function llamaServers(label: string): Promise<Servers> {
  const { docker, images, modelsDir, tinyFile, chatFile } = await ensureBench();
  const mark = `io.llamastead.test=${label}`;

  async function removeAll(): Promise<void> {
    const ids = await docker.run(['ps', '-aq', '--filter', `label=${mark}`]);
    if (ids !== '') await docker.run(['rm', '-f', ...ids.split('\n')]);
  }

  await removeAll();
  let made = 0;
  return {
    docker,
    chatFile,
    async start(name, { file = tinyFile, env = {}, limits = [] } = {}) {
      const all = {
        LLAMA_ARG_PORT: '8080',
        LLAMA_ARG_MODEL: `/models/${file}`,
        LLAMA_ARG_ALIAS: 'chat',
        LLAMA_API_KEY: KEY,
        LLAMA_ARG_CTX_SIZE: '4096',
        LLAMA_ARG_N_PARALLEL: '2',
        LLAMA_ARG_ENDPOINT_SLOTS: '1',
        // Two would spin while they wait for each other, and so take the core that the test needs.
        LLAMA_ARG_THREADS: '1',
        ...env,
      };
      const settings = Object.entries(all).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
      const volume = ['-v', `${modelsDir}:/models:ro`];
      made += 1;
      const full = `llamastead-${label}-${name}-${process.pid}-${made}`;
      const named = ['--name', full, '--label', mark];
      await docker.run(['run', '-d', '--init', ...named, ...limits, ...volume, ...settings, images.cpu]);
      const host = await docker.run(['inspect', '-f', '{{.NetworkSettings.IPAddress}}', full]);
      return { name: full, host };
    },
    remove: async ({ name }) => void (await docker.run(['rm', '-f', name])),
    removeAll,
  };
}

/** Polls, at most 60 s, until `check` holds. */
export async function eventually(check: () => Promise<boolean>, everyMs = 20): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await check().catch(() => false))) {
    if (performance.now() > end) throw new Error(`not so within 60 s: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

export const isReady = async ({ host }: Server) => (await get(`http://${host}:8080/health`)).status === 200;

export const ready = (server: Server) => eventually(() => isReady(server));

/**
 * Resolves when no slot is busy. Its log is asked first: llama-server looks whether the client of an answer that has
 * not begun is still there only after a second without any result, and `/slots` is one.
 */
export const freeSlots = (servers: Servers, server: Server) =>
  eventually(async () => {
    const { begun, ended } = await generations(servers, server);
    return begun === ended && (await busySlots(server)) === 0;
  }, 100);

/** Answers that it began and ended, from its log. */
export function generations({ docker }: Servers, { name, host }: Server): Promise<Generations> {
  const read = async () => {
    const lines: string[] = [];
    await docker.run(['logs', name], { onLine: (line) => lines.push(line) });
    return lines.join('\n');
  };
  return generationsOf({ url: `http://${host}:8080`, key: KEY, read });
}

export async function busySlots({ host }: Server): Promise<number> {
  const reply = await get(`http://${host}:8080/slots`, { Authorization: `Bearer ${KEY}` });
  const slots = JSON.parse(reply.text()) as { is_processing: boolean }[];
  return slots.filter(({ is_processing }) => is_processing).length;
}
