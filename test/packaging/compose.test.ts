/** Both compose files by the real `docker compose`; the plain one started on the bench's engine as users would. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import type { View } from '../../app/core/view.ts';
import { type Bench, ensureBench, ensureComposeImage, ensureSelfImage } from '../home/bench.ts';
import { run } from '../home/lib/run.ts';
import { type Defer, deferred } from '../support/defer.ts';
import { mountDisk } from '../support/disk.ts';
import { freePorts } from '../support/ports.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROJECT = 'llamastead-compose-test';
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

interface Stack {
  readonly url: string;
  compose(...args: string[]): Promise<string>;
}

/** The plain compose file with its own folders and ports. */
async function stackOn(defer: Defer, models: string): Promise<Stack> {
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-compose-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  const [port, mqtt] = await freePorts(2);
  const variables = {
    LLAMASTEAD_IMAGE: await ensureSelfImage(bench),
    DOCKER_SOCKET: bench.socket,
    MODELS: models,
    DATA: join(folder, 'data'),
    CONFIG: join(folder, 'config'),
    PORT: String(port),
    MQTT_PORT: String(mqtt),
  };
  await mkdir(variables.CONFIG);
  const config = { images: { ...bench.images }, mqtt: { instance: PROJECT } };
  await writeFile(join(variables.CONFIG, 'llamastead.yaml'), stringify(config));
  const run = (...args: string[]) =>
    compose('compose/docker-compose.yml', variables, '--project-name', PROJECT, ...args);
  defer(() => run('down', '--volumes'));
  return { url: `http://127.0.0.1:${port}`, compose: run };
}

/** A folder of a host whose mounts are shared, as systemd has them. */
async function sharedFolder(defer: Defer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-nas-'));
  defer(() => rm(folder, { recursive: true, force: true }));
  await mountDisk(defer, folder);
  await run('mount', ['--make-shared', folder]);
  return folder;
}

test('as users start it: disks that come later are found, what it starts is no orphan, down takes it all away', async (t) => {
  const defer = deferred(t);
  const models = join(await sharedFolder(defer), 'models');
  await mkdir(models);
  const { url, compose } = await stackOn(defer, models);
  await compose('up', '--detach', '--pull', 'never');
  await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true);
  const state = async () => (await (await fetch(`${url}/admin/state`)).json()) as View;
  const names = async () => (await state()).models.map(({ name }) => name).sort();
  const problems = async () => (await state()).problems.map(({ code }) => code);
  await until(async () => (await problems()).join() === 'models_folder_empty');

  await mountDisk(defer, models);
  const [tiny] = [join(bench.modelsDir, bench.tinyFile)];
  await copyFile(tiny, join(models, 'tiny.gguf'));
  await until(async () => (await names()).includes('tiny'));
  // It may be looked at while it is copied.
  await until(async () => (await problems()).length === 0);

  await mountDisk(defer, join(models, 'more'));
  await copyFile(tiny, join(models, 'more/other.gguf'));
  await until(async () => (await names()).includes('other'));

  const loaded = await fetch(`${url}/admin/models/other/load?wait=1`, { method: 'POST' });
  assert.equal(loaded.status, 200, await loaded.text());
  const ours = await instances();
  assert.equal(ours.length, 1);
  await compose('up', '--detach', '--pull', 'never', '--remove-orphans');
  assert.deepEqual(await instances(), ours);
  assert.equal((await compose('ps', '--all', '--quiet')).split('\n').length, 1);
  await compose('down');
  assert.deepEqual(await instances(), []);
});

/** Containers of this test's home. */
async function instances(): Promise<string[]> {
  const labels = [`io.llamastead.instance=${PROJECT}`, 'io.llamastead.role=instance'];
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`]);
  const ids = await bench.docker.run(['ps', '--all', '--quiet', '--no-trunc', ...filters]);
  return ids.split('\n').filter(Boolean).sort();
}
