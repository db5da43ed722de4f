/** The proxies beside Llamastead, in front of the same upstream. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../../support/ports.ts';
import { startProgram } from './program.ts';
import type { Target } from './target.ts';

export interface RunningTarget {
  readonly target: Target;
  stop(): Promise<void>;
}

/**
 * Programs of this folder that decide nothing, by the least that they do: `pass-through` is Express and undici,
 * `bare-http` Node's server and the forwarder's client, `pipe` sockets alone.
 */
export type Least = 'pass-through' | 'bare-http' | 'pipe';

export async function startLeast(name: Least, upstream: string): Promise<RunningTarget> {
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const program = await startProgram(
    process.execPath,
    [join(import.meta.dirname, `${name}.ts`), String(port), upstream],
    `${url}/health`,
  );
  return { target: { name, url, model: 'stub', pid: program.pid }, stop: program.stop };
}

/** llama-swap from its binary, with the upstream as its one model. */
export async function startLlamaSwap(binary: string, upstream: string): Promise<RunningTarget> {
  const folder = mkdtempSync(join(tmpdir(), 'llamastead-bench-swap-'));
  const config = join(folder, 'config.yaml');
  // Its own limit is 10 requests at once; Llamastead's instance takes 64.
  const stub = { cmd: 'sleep infinity', proxy: upstream, checkEndpoint: '/health', concurrencyLimit: 128 };
  writeFileSync(config, stringify({ logLevel: 'error', models: { stub } }));
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const args = ['-config', config, '-listen', `127.0.0.1:${port}`];
  const program = await startProgram(binary, args, `${url}/health`);
  return {
    target: { name: 'llama-swap', url, model: 'stub', pid: program.pid },
    async stop() {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
