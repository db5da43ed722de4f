import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { RunningHome } from '../controller/bring-up.ts';
import { containerName } from '../controller/container.ts';
import { type HomeFile, readHomeFile, writeHomeFile } from '../controller/home-file.ts';
import { freePort } from '../controller/ports.ts';
import { type Outward, writtenOut } from '../controller/settings.ts';
import { contentHash } from '../lib/content-hash.ts';
import type { Docker } from '../lib/docker.ts';
import { homeDir } from '../lib/paths.ts';
import { type Progress, runStep } from '../lib/steps.ts';
import {
  type BrokerAccount,
  connectToBroker,
  ensureHomeAssistantImage,
  startHomeAssistant,
} from './home-assistant.ts';

type Access = NonNullable<HomeFile['homeAssistant']>;

const name = `${containerName}-ha`;
const folder = join(homeDir, 'home-assistant');
const usualPort = 8123;

/**
 * A real Home Assistant on the home's network, connected to its broker; one that runs with the same account is kept.
 * Its address and token go into home.json.
 * @throws StepFailure
 */
export async function bringUpHomeAssistant(
  bench: Bench,
  home: RunningHome,
  progress: Progress,
): Promise<Access> {
  const image = await ensureHomeAssistantImage(bench, progress);
  const broker = brokerInside(home.outward);
  const plan = contentHash([image, JSON.stringify(broker)]);
  const access = await runStep(
    {
      name: 'Home Assistant',
      advice: `Read its log: DOCKER_HOST=${bench.docker.host} docker logs ${name}`,
      find: () => findRunning(bench.docker, plan),
      make: () => startAnew(bench.docker, image, broker),
    },
    progress,
  );
  writeHomeFile({ ...home.file, homeAssistant: { ...access, plan } });
  return access;
}

async function findRunning(docker: Docker, plan: string): Promise<Access | undefined> {
  const known = readHomeFile()?.homeAssistant;
  if (known === undefined || known.plan !== plan) return undefined;
  const running = await docker.run(['ps', '--quiet', '--filter', `name=^/${name}$`]);
  return running === '' ? undefined : known;
}

async function startAnew(docker: Docker, image: string, broker: BrokerAccount): Promise<Access> {
  await removeHomeAssistant(docker);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const publish = await freePort([usualPort]);
  const options = { docker, image, network: containerName, name, folder, automations: [], publish };
  const assistant = await startHomeAssistant(options);
  try {
    await connectToBroker(assistant.api, broker);
  } finally {
    assistant.api.close();
  }
  return { url: assistant.url, token: assistant.token };
}

/** Ends and removes the home's Home Assistant, if there is one. */
export async function removeHomeAssistant(docker: Docker): Promise<void> {
  const id = await docker.run(['ps', '--all', '--quiet', '--filter', `name=^/${name}$`]);
  if (id !== '') await docker.run(['rm', '--force', '--volumes', id]);
}

/** The broker as it is reached on the home's network. */
function brokerInside({ mqtt }: Outward): BrokerAccount {
  if (mqtt.url !== null) {
    const { hostname, port } = new URL(mqtt.url);
    const username = mqtt.username ?? '';
    return {
      host: hostname,
      port: Number(port || 1883),
      username,
      password: writtenOut(mqtt.password) ?? '',
    };
  }
  const { port = 11_536, username, password } = mqtt.embedded;
  return { host: containerName, port, username, password: writtenOut(password) ?? '' };
}
