/** Both compose files by the real `docker compose`; the plain one started on the bench's engine as users would. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Bench, ensureBench, ensureComposeImage, ensureSelfImage } from '../home/bench.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
let bench: Bench;
let tool: string;

before(async () => {
  bench = await ensureBench();
  tool = await ensureComposeImage(bench);
});

/** `docker compose` with the project's files and the engine's socket, both where the engine's host has them. */
function compose(file: string, variables: Record<string, string>, ...args: string[]): Promise<string> {
  const env = Object.entries(variables).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
  const mounts = ['--volume', `${ROOT}:${ROOT}:ro`, '--volume', `${bench.socket}:/var/run/docker.sock`];
  return bench.docker.run(['run', '--rm', ...mounts, ...env, tool, '--file', join(ROOT, file), ...args]);
}

test('the app of the store is valid', async () => {
  const file = 'casaos/Apps/Llamastead/docker-compose.yml';
  await compose(file, { AppID: 'llamastead', TZ: 'Asia/Seoul', PUID: '0', PGID: '0' }, 'config', '-q');
});

test('the plain compose file starts Llamastead, which answers a chat; down takes its instances away', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-compose-'));
  const [port, mqtt] = [await freePort(), await freePort()];
  const variables = {
    LLAMASTEAD_IMAGE: await ensureSelfImage(bench),
    DOCKER_SOCKET: bench.socket,
    MODELS: bench.modelsDir,
    DATA: join(folder, 'data'),
    CONFIG: join(folder, 'config'),
    PORT: String(port),
    MQTT_PORT: String(mqtt),
  };
  const project = ['--project-name', 'llamastead-compose-test'];
  after(async () => {
    await compose('compose/docker-compose.yml', variables, ...project, 'down', '--volumes');
    await rm(folder, { recursive: true, force: true });
  });
  await compose('compose/docker-compose.yml', variables, ...project, 'up', '--detach', '--pull', 'never');
  await ready(`http://127.0.0.1:${port}`);
  const models = (await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json()) as {
    data: { id: string }[];
  };
  assert.ok(
    models.data.some(({ id }) => id === 'tiny'),
    'a model file is a model without a word of configuration',
  );
});

const ready = (url: string) =>
  until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
