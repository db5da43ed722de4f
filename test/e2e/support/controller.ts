/**
 * A real controller on the bench's engine: the program itself as a process of its own, so that a test can kill
 * it. Everything is awaited by its events, never by time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Fact, FactType } from '../../../app/core/facts.ts';
import type { View } from '../../../app/core/view.ts';
import { type Bench, ensureBench } from '../../home/bench.ts';
import { freePorts } from '../../support/ports.ts';
import { PROGRAM } from '../../support/program.ts';
import { type Following, follow } from './events.ts';

/** What it logs when it can be asked; it may come in two parts. */
const READY = 'Llamastead is ready';
/** A head that waits for the first text tells where it came from, also on a busy machine. */
const FAILOVER = { returnAfter: '2s', streamKeepalive: '60s' };
const INSTANCES = ['--filter', 'label=io.llamastead.role=instance'];

export interface Controller {
  readonly bench: Bench;
  readonly url: string;
  readonly home: string;
  readonly mqttPort: number;
  /** The next fact of this type (and shape) that was not awaited yet. */
  event(type: FactType, matches?: (fact: Fact) => boolean): Promise<Fact>;
  /** All facts so far. */
  facts(): readonly Fact[];
  state(): Promise<View>;
  /** What it wrote so far. */
  log(): string;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  docker(...args: string[]): Promise<string>;
  /** Names of our instance containers. */
  instances(): Promise<string[]>;
  /** Those of them that run. */
  running(): Promise<string[]>;
  /** Of the process that runs now. */
  pid(): number;
  /** The container of a model's placement. */
  container(model: string, placement: string): Promise<string>;
  /** All of them, also one that is to go. */
  containers(model: string, placement: string): Promise<string[]>;
  configure(config: Record<string, unknown>): Promise<void>;
  mqttPassword(): Promise<string>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
  /** Starts the process again on the same state. */
  start(): Promise<void>;
  /** Ends it and removes whatever it left. */
  close(): Promise<void>;
}

/**
 * @param config a test's own values, laid over the bench's; each of `failover` by itself
 * @param on the bench, or another engine with its images and models
 */
export async function startController(
  name: string,
  config: Record<string, unknown>,
  on?: Bench,
): Promise<Controller> {
  const bench = on ?? (await ensureBench());
  const folder = await mkdtemp(join(tmpdir(), `llamastead-${name}-`));
  const [port, mqttPort] = await freePorts(2);
  const url = `http://127.0.0.1:${port}`;
  const file = join(folder, 'llamastead.yaml');
  const base = benchConfig(bench, name, folder, { port: port ?? 0, mqttPort: mqttPort ?? 0 });
  const write = (over: Record<string, unknown>) => {
    const failover = { ...FAILOVER, ...(over['failover'] as object | undefined) };
    return writeFile(file, stringify({ ...base, ...over, failover }, { aliasDuplicateObjects: false }));
  };
  await write(config);
  let child: ChildProcess | null = null;
  let following: Following | null = null;
  const log: string[] = [];

  const docker = async (...args: string[]) => (await bench.docker.run(args)).trim();
  const ours = ['--filter', `label=io.llamastead.instance=${name}`];
  const names = async (...more: string[]) =>
    (await docker('ps', '-a', ...ours, ...more, '--format', '{{.Names}}')).split('\n').filter(Boolean);

  async function start(): Promise<void> {
    child = spawn(process.execPath, [...PROGRAM, 'serve', '--config', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const running = child;
    let last = '';
    const ready = new Promise<void>((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        const text = chunk.toString();
        log.push(text);
        last = last.slice(-READY.length) + text;
        if (last.includes(READY)) resolve();
      };
      running.stdout?.on('data', read);
      running.stderr?.on('data', read);
      // When its last words are read.
      running.once('close', () => reject(new Error(`the controller ended:\n${log.join('')}`)));
    });
    await ready;
    following = await follow(url, following?.facts ?? []);
  }

  async function kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    if (child === null || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    following?.close();
    const exited = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  }

  const containers = (model: string, placement: string) => {
    const labels = [`label=io.llamastead.model=${model}`, `label=io.llamastead.placement=${placement}`];
    return names(...labels.flatMap((label) => ['--filter', label]));
  };

  await start();
  return {
    bench,
    url,
    home: name,
    mqttPort: mqttPort ?? 0,
    event: (type, matches = () => true) =>
      following?.next((fact) => fact.type === type && matches(fact)) ??
      Promise.reject(new Error('not running')),
    facts: () => following?.facts ?? [],
    log: () => log.join(''),
    state: async () => (await (await fetch(`${url}/admin/state`)).json()) as View,
    post: (path, body = {}, headers = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    docker,
    instances: () => names(...INSTANCES),
    running: () => names(...INSTANCES, '--filter', 'status=running'),
    pid: () => child?.pid ?? 0,
    containers,
    async container(model, placement) {
      const [found] = await containers(model, placement);
      if (found === undefined) throw new Error(`no ${placement} container of ${model}`);
      return found;
    },
    configure: (over) => write(over),
    async mqttPassword() {
      return (
        JSON.parse(await readFile(join(folder, 'state/state.json'), 'utf8')) as { brokerPassword: string }
      ).brokerPassword;
    },
    kill,
    start,
    async close() {
      await kill('SIGTERM');
      const left = await names();
      if (left.length > 0) await docker('rm', '-f', ...left);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function benchConfig(
  bench: Bench,
  name: string,
  folder: string,
  { port, mqttPort }: { readonly port: number; readonly mqttPort: number },
): Record<string, unknown> {
  return {
    listen: { host: '127.0.0.1', port },
    paths: { models: bench.modelsDir, state: join(folder, 'state'), modelsOnHost: bench.modelsDir },
    engines: { local: { socket: bench.socket } },
    images: { cpu: bench.images.cpu, vulkan: bench.images.vulkan },
    gpus: [{ name: 'bench', kind: 'vulkan', memory: 'shared', env: { GGML_VK_VISIBLE_DEVICES: '0' } }],
    mqtt: { instance: name, embedded: { on: true, host: '127.0.0.1', port: mqttPort } },
    log: { level: 'info' },
  };
}
