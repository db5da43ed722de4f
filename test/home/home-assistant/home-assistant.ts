/**
 * A real Home Assistant on the bench's engine:
 *
 *     const image = await ensureHomeAssistantImage(bench);
 *     const home = await startHomeAssistant({ docker, image, network, folder, automations: [] });
 *     home.url, home.token                    // sign in as LOGIN of seed.ts, or by the token
 *     await connectToBroker(home.api, { host, port, username, password });
 */
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Docker } from '../lib/docker.ts';
import { withLock } from '../lib/lock.ts';
import { benchDir, repository } from '../lib/paths.ts';
import { onTerminal, type Progress, runStep } from '../lib/steps.ts';
import { type HomeAssistantApi, homeAssistantApi } from './api.ts';
import { homeAssistantImageStep } from './image.ts';
import { seedHomeAssistant } from './seed.ts';

export interface HomeAssistantOptions {
  readonly docker: Docker;
  readonly image: string;
  /** A Docker network that reaches the broker; an internal one will do. */
  readonly network: string;
  /** Of the container. */
  readonly name: string;
  /** An empty folder on the engine's host for its configuration. */
  readonly folder: string;
  /** As in automations.yaml. The project's blueprints are there. */
  readonly automations: readonly unknown[];
  /** Port on the host; null: reached by the container's address only. */
  readonly publish: number | null;
}

export interface HomeAssistant {
  readonly url: string;
  readonly token: string;
  readonly api: HomeAssistantApi;
  /** All lines that it logged: warnings, and what MQTT says of itself. */
  log(): Promise<readonly string[]>;
  /** Ends and starts it with the same configuration; `url` and `api` are new ones then. */
  restart(): Promise<void>;
  /** Removes the container; the folder stays. */
  remove(): Promise<void>;
}

export interface BrokerAccount {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

const PORT = 8123;
/** Milliseconds; it takes about 3 s on an idle machine. */
const START_TIMEOUT = 300_000;

/** The image, built at its first use. */
export function ensureHomeAssistantImage(
  bench: { readonly docker: Docker; readonly base: string },
  progress: Progress = onTerminal,
): Promise<string> {
  return withLock(join(benchDir, 'home-assistant.lock'), () =>
    runStep(homeAssistantImageStep(bench.docker, bench.base), progress),
  );
}

/** Resolves when it runs, some 3 s after its start. */
export async function startHomeAssistant(options: HomeAssistantOptions): Promise<HomeAssistant> {
  const { docker, name, network, folder } = options;
  const token = seedHomeAssistant(folder, { port: PORT, automations: options.automations });
  const blueprints = join(folder, 'blueprints');
  mkdirSync(blueprints, { recursive: true });
  cpSync(join(repository, 'hassio/blueprints'), blueprints, { recursive: true });
  const published = options.publish === null ? [] : ['--publish', `${options.publish}:${PORT}`];
  await docker.run([
    ...['run', '--detach', '--name', name, '--network', network, ...published],
    ...['--volume', `${folder}:/config`, options.image],
  ]);
  const first = await whenRunning(options, token);
  const home: HomeAssistant = {
    ...first,
    token,
    async log() {
      const lines: string[] = [];
      await docker.run(['logs', name], { onLine: (line) => lines.push(line) });
      return lines;
    },
    async restart() {
      home.api.close();
      await docker.run(['restart', '--time', '120', name]);
      Object.assign(home, await whenRunning(options, token));
    },
    async remove() {
      home.api.close();
      await docker.run(['rm', '--force', '--volumes', name]);
    },
  };
  return home;
}

/**
 * Sets its MQTT integration up as a person does on its page, with the settings that it offers.
 * @throws where it refuses them
 */
export async function connectToBroker(api: HomeAssistantApi, broker: BrokerAccount): Promise<void> {
  const flows = '/api/config/config_entries/flow';
  const { flow_id } = (await api.rest('POST', flows, { handler: 'mqtt' })) as { flow_id: string };
  const { host, ...account } = broker;
  const result = (await api.rest('POST', `${flows}/${flow_id}`, {
    ...{ broker: host, ...account, protocol: '5' },
    other_settings: { set_client_cert: false, set_ca_cert: 'off', transport: 'tcp' },
  })) as { type: string; errors?: unknown };
  if (result.type !== 'create_entry')
    throw new Error(`MQTT was not set up: ${JSON.stringify(result.errors)}`);
}

async function whenRunning(
  options: HomeAssistantOptions,
  token: string,
): Promise<{ url: string; api: HomeAssistantApi }> {
  const url = await addressOf(options);
  const headers = { authorization: `Bearer ${token}` };
  const giveUp = AbortSignal.timeout(START_TIMEOUT);
  for (;;) {
    giveUp.throwIfAborted();
    const state = await fetch(`${url}/api/core/state`, { headers }).then(
      (response) => response.json() as Promise<{ state?: string }>,
      () => null,
    );
    if (state?.state === 'RUNNING') return { url, api: await homeAssistantApi(url, token) };
    await pause(50);
  }
}

async function addressOf({ docker, name, network, publish }: HomeAssistantOptions): Promise<string> {
  if (publish !== null) return `http://127.0.0.1:${publish}`;
  const format = `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`;
  return `http://${await docker.run(['inspect', '--format', format, name])}:${PORT}`;
}
