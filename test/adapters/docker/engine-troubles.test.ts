/** What only a fake engine can be made to do. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { LABELS } from '../../../app/adapters/docker/names.ts';
import { AppError } from '../../../app/errors.ts';
import type { BenchEngine, Home } from '../../support/containers/bench.ts';
import { homeOn, planFor, SOFTWARE_GPU } from '../../support/containers/bench.ts';
import type { FakeDocker, FakeDockerOptions } from '../../support/fake-docker/fake-docker.ts';
import { fakeDocker } from '../../support/fake-docker/fake-docker.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';

const IMAGES = ['cpu', 'vulkan', 'vulkan-late', 'silent', 'gpu-lost', 'busy'].map((name) => `llama:${name}`);
/** Only what a test waits out is short: a busy machine must not fail the others. */
const TIMING = { retryMax: 20, beforeTerm: 1 };

interface Bench {
  readonly fake: FakeDocker;
  readonly engine: BenchEngine;
  readonly home: Home;
}

async function bench(
  t: TestContext,
  options: Partial<FakeDockerOptions> = {},
  more: NonNullable<Parameters<typeof homeOn>[1]> = {},
): Promise<Bench> {
  const fake = await fakeDocker({ images: IMAGES, ...options });
  const engine = {
    socket: fake.socket,
    images: { cpu: 'llama:cpu', vulkan: 'llama:vulkan' },
    modelsFolder: '/models',
    crash: async () => {},
  };
  const home = homeOn(engine, { ...more, timing: { ...TIMING, ...more.timing } });
  t.after(async () => {
    await home.containers.close({ holders: false });
    await fake.close();
  });
  return { fake, engine, home };
}

async function running(bench: Bench): Promise<string> {
  await bench.home.containers.open(bench.home.reports.add);
  const started = await bench.home.containers.start(planFor(bench.engine, 'i1'));
  if (!started.ok) assert.fail(JSON.stringify(started.evidence));
  return started.container;
}

function container(fake: FakeDocker, id: string) {
  const found = fake.engine.containers.get(id);
  if (found === undefined) assert.fail('no such container');
  return found;
}

test('a socket that is not there is told, and used when it comes', async (t) => {
  const it = await bench(t);
  await it.fake.stop();
  await it.home.containers.open(it.home.reports.add);
  const { problem } = await it.home.reports.next('engine_unreachable');
  assert.equal(problem.code, 'docker_socket_missing');
  const early = await it.home.containers.start(planFor(it.engine, 'early'));
  assert.equal(early.ok ? undefined : early.evidence.engineAway, true);
  assert.equal(await it.home.containers.servicesMemory(), null);
  await it.fake.start();
  await it.home.reports.next('engine_reachable');
  await it.home.reports.next('containers_observed');
  assert.equal((await it.home.containers.start(planFor(it.engine, 'i1'))).ok, true);
});

test('an engine that goes away is told once, and what died meanwhile when it is back', async (t) => {
  const it = await bench(t);
  const id = await running(it);
  const lost = it.home.reports.next('engine_unreachable');
  await it.fake.stop();
  await lost;
  await it.fake.engine.crash(container(it.fake, id), 139);
  const exited = it.home.reports.next('instance_exited');
  await it.fake.start();
  assert.equal((await exited).evidence.exitCode, 139);
  assert.equal(it.home.reports.all.filter(({ type }) => type === 'engine_unreachable').length, 1);
  assert.equal(it.home.reports.all.filter(({ type }) => type === 'instance_exited').length, 1);
});

test('a start that gets no answer says so, and the engine is told lost though its events still flow', async (t) => {
  const it = await bench(t, {}, { timing: { doubt: 20 } });
  await it.home.containers.open(it.home.reports.add);
  it.fake.breaks = /./;
  const failed = await it.home.containers.start(planFor(it.engine, 'i1'));
  assert.equal(failed.ok ? undefined : failed.evidence.engineAway, true);
  await it.home.reports.next('engine_unreachable');
  const observed = it.home.reports.next('containers_observed', () => true, 'fresh');
  it.fake.breaks = null;
  await observed;
  assert.equal((await it.home.containers.start(planFor(it.engine, 'i2'))).ok, true);
});

/** All calls, and the last one that is needed to make use of an engine again. */
const [ANY, OBSERVATION] = [/./, /\/containers\/json\?.*\.owner/];

async function lose(it: Bench): Promise<void> {
  await it.home.containers.open(it.home.reports.add);
  const lost = it.home.reports.next('engine_unreachable');
  it.fake.breaks = ANY;
  it.fake.cutEvents();
  await lost;
}

test('an engine that answered for a moment and went away with the same trouble is told lost again', async (t) => {
  const it = await bench(t);
  await lose(it);
  const reached = it.home.reports.next('engine_reachable', () => true, 'fresh');
  const lostAgain = it.home.reports.next('engine_unreachable', () => true, 'fresh');
  it.fake.breaks = OBSERVATION;
  await reached;
  await lostAgain;
});

test('an engine that refuses a part of what it is needed for is not told back', async (t) => {
  const it = await bench(t);
  await lose(it);
  const told = () => it.home.reports.all.filter(({ type }) => type === 'engine_reachable').length;
  const before = told();
  it.fake.breaks = /\/networks/;
  for (let tries = 0; tries < 2; tries += 1) await it.fake.asked(/\/networks/);
  assert.equal(told(), before);
  const reached = it.home.reports.next('engine_reachable', () => true, 'fresh');
  it.fake.breaks = null;
  await reached;
});

test('an engine that refuses to be looked at after a start without an answer is told lost', {
  timeout: PATIENCE_MS,
}, async (t) => {
  const it = await bench(t, {}, { timing: { doubt: 20 } });
  await it.home.containers.open(it.home.reports.add);
  it.fake.breaks = /create/;
  await it.home.containers.start(planFor(it.engine, 'i1'));
  it.fake.refuses = OBSERVATION;
  await it.home.reports.next('engine_unreachable');
  const observed = it.home.reports.next('containers_observed', () => true, 'fresh');
  it.fake.refuses = null;
  await observed;
});

test('a broken event stream is followed again from its last event', async (t) => {
  const it = await bench(t);
  const id = await running(it);
  const observed = it.home.reports.next('containers_observed', () => true, 'fresh');
  it.fake.cutEvents();
  await observed;
  const asked = it.fake.requests.filter((line) => line.includes('/events'));
  assert.equal(asked.length, 2);
  assert.match(asked[1] ?? '', /since=\d+/);
  const exited = it.home.reports.next('instance_exited');
  await it.fake.engine.crash(container(it.fake, id), 134);
  assert.equal((await exited).evidence.exitCode, 134);
});

test('an outside kill that the events told late is still told as one', async (t) => {
  const it = await bench(t);
  const id = await running(it);
  const exited = it.home.reports.next('instance_exited');
  await it.home.docker.getContainer(id).stop();
  assert.equal((await exited).evidence.killedOutside, true);
  assert.equal(it.home.reports.all.filter(({ type }) => type === 'instance_exited').length, 1);
});

test('a start whose log falls silent is given up', async (t) => {
  const it = await bench(t, {}, { timing: { stall: 100 } });
  await it.home.containers.open(it.home.reports.add);
  const started = await it.home.containers.start(planFor(it.engine, 'i1', { image: 'llama:silent' }));
  assert.equal(started.ok, false);
  assert.ok(!started.ok && started.evidence.running);
  assert.match((!started.ok && started.evidence.error) || '', /silent for 0.1 s/);
});

test('a log that lags behind the answer does not hide the GPU', async (t) => {
  const it = await bench(t);
  await it.home.containers.open(it.home.reports.add);
  const profile = { placement: 'gpu', gpu: SOFTWARE_GPU, image: 'llama:vulkan-late' } as const;
  const started = await it.home.containers.start(planFor(it.engine, 'i1', profile));
  assert.equal(started.ok && started.measured.placement, 'gpu');
});

test('a server that is healthy and computes nothing is not ready', async (t) => {
  const it = await bench(t);
  await it.home.containers.open(it.home.reports.add);
  const started = await it.home.containers.start(planFor(it.engine, 'i1', { image: 'llama:gpu-lost' }));
  assert.match((!started.ok && started.evidence.error) || '', /HTTP 500: .*Compute error/);
});

test('a server that ignores SIGTERM gets SIGKILL after its grace', async (t) => {
  const it = await bench(t, {}, { timing: { termGrace: 50 } });
  await it.home.containers.open(it.home.reports.add);
  const started = await it.home.containers.start(planFor(it.engine, 'i1', { image: 'llama:busy' }));
  assert.ok(started.ok);
  await it.home.containers.remove('i1', 'gentle');
  const signals = it.fake.engine.history.filter(({ Action }) => Action === 'kill');
  assert.deepEqual(
    signals.map(({ Actor }) => Actor.Attributes['signal']),
    ['15', '9'],
  );
  assert.ok(!it.home.reports.all.some(({ type }) => type === 'instance_exited'));
});

test('a container that does not go away is stuck, and can be tried again', async (t) => {
  const it = await bench(t, {}, { timing: { removal: 2_000 } });
  const id = await running(it);
  it.fake.engine.removalHangs = true;
  const stuck = (error: unknown) => error instanceof AppError && error.code === 'stuck';
  await assert.rejects(it.home.containers.remove('i1', 'kill'), stuck);
  it.fake.engine.removalHangs = false;
  await it.home.containers.remove('i1', 'kill');
  assert.ok(!it.fake.engine.containers.has(id));
});

test('two removals of one instance are one', async (t) => {
  const it = await bench(t);
  await running(it);
  const both = [it.home.containers.remove('i1', 'gentle'), it.home.containers.remove('i1', 'kill')];
  await Promise.all(both);
  await it.home.containers.remove('i1', 'kill');
});

test('the version of the API is agreed on', async (t) => {
  const it = await bench(t, { api: '1.52', oldestApi: '1.44' });
  await running(it);
  const [first, ...others] = it.fake.requests;
  assert.equal(first, 'GET /version');
  assert.ok(others.filter((line) => !line.includes('since')).every((line) => line.includes(' /v1.51/')));
});

test("an instance's key is in no request line", async (t) => {
  const it = await bench(t);
  await running(it);
  const key = it.home.containers.address('i1')?.key ?? '';
  assert.ok(key.length > 0);
  assert.ok(it.fake.requests.every((line) => !line.includes(key)));
  const created = it.fake.requests.filter((line) => line.includes('/containers/create'));
  assert.ok(created.every((line) => /create\?name=[\w-]+$/.test(line)));
});

test('a missing image of the holder is a problem, gone when the image is there', async (t) => {
  const it = await bench(t, { images: ['llama:vulkan'] }, { timing: { image: 5 } });
  await it.home.containers.open(it.home.reports.add);
  const { problem } = await it.home.reports.next('problem_seen');
  assert.equal(problem.code, 'image_missing');
  assert.match(problem.fix, /docker pull llama:cpu/);
  it.fake.engine.addImage('llama:cpu');
  const { code, about } = await it.home.reports.next('problem_gone');
  assert.deepEqual({ code, about }, { code: 'image_missing', about: 'llama:cpu' });
  await until(async () => (await it.home.own()).length === 1);
});

test('a missing image of an instance is a problem beside the failed start, gone when the image is there', async (t) => {
  const it = await bench(t, { images: ['llama:cpu'] }, { timing: { image: 5 } });
  await it.home.containers.open(it.home.reports.add);
  const plan = planFor(it.engine, 'i1', { image: 'llama:vulkan' });
  assert.equal((await it.home.containers.start(plan)).ok, false);
  assert.equal((await it.home.reports.next('problem_seen')).problem.about, 'llama:vulkan');
  it.fake.engine.addImage('llama:vulkan');
  assert.equal((await it.home.reports.next('problem_gone')).about, 'llama:vulkan');
});

test('a missing image of a model is a problem before anybody asks for the model', async (t) => {
  const all = ['llama:cpu', 'llama:vulkan'];
  const images = () => ({ holder: 'llama:cpu', all, used: () => all, cards: () => null });
  const it = await bench(t, { images: ['llama:cpu'] }, { images, timing: { image: 5 } });
  await it.home.containers.open(it.home.reports.add);
  assert.equal((await it.home.reports.next('problem_seen')).problem.about, 'llama:vulkan');
  it.fake.engine.addImage('llama:vulkan');
  assert.equal((await it.home.reports.next('problem_gone')).about, 'llama:vulkan');
});

test('an image that the configuration names no more is missed no more, and the holder is made from the new one', async (t) => {
  let holder = 'llama:wrong';
  const images = () => ({ holder, all: [holder], used: () => [], cards: () => null });
  const it = await bench(t, {}, { images, timing: { image: 5 } });
  await it.home.containers.open(it.home.reports.add);
  assert.equal((await it.home.reports.next('problem_seen')).problem.about, 'llama:wrong');
  holder = 'llama:cpu';
  assert.equal((await it.home.reports.next('problem_gone')).about, 'llama:wrong');
  await until(async () => (await it.home.own()).length === 1);
});

/** Llamastead in a container of the engine that it uses. */
async function inContainer(
  t: TestContext,
  network: string,
  mounts: readonly object[],
): Promise<Bench & { self: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'mountinfo-'));
  t.after(() => rm(folder, { recursive: true }));
  const mountinfo = join(folder, 'mountinfo');
  const it = await bench(t, { api: '1.45' }, { mountinfo, models: { here: '/models/llm', onHost: 'auto' } });
  const body = { Image: 'llama:cpu', Entrypoint: ['sleep'], HostConfig: { NetworkMode: network } };
  const self = it.fake.engine.create('llamastead', { ...body, FakeMounts: mounts });
  it.fake.engine.start(self);
  await writeFile(
    mountinfo,
    `1 1 8:1 /docker/containers/${self.id}/hostname /etc/hostname rw - ext4 /dev/sda rw\n`,
  );
  return { ...it, self: self.id };
}

const VOLUME = { Type: 'volume', Name: 'share', Source: '/x/_data', Destination: '/models' };

test('in a container the holder joins its network, and the models come from its mounts', async (t) => {
  const it = await inContainer(t, 'nas', [VOLUME]);
  const id = await running(it);
  const { HostConfig } = container(it.fake, id).body;
  const [mount] = (HostConfig?.['Mounts'] ?? []) as { Source: string; VolumeOptions: { Subpath: string } }[];
  assert.equal(mount?.Source, 'share');
  assert.equal(mount?.VolumeOptions.Subpath, 'llm');
  const holder = container(it.fake, HostConfig?.NetworkMode?.replace('container:', '') ?? '');
  assert.equal(holder.body.HostConfig?.NetworkMode, 'nas');
  assert.equal(it.fake.engine.networks.size, 0);
});

test('on the default bridge only, a network is made and joined', async (t) => {
  const it = await inContainer(t, 'bridge', [VOLUME]);
  await running(it);
  const [network] = it.fake.engine.networks.values();
  assert.equal(network?.Name, `llamastead-${it.home.home}-${it.home.owner.slice(0, 8)}`);
  assert.equal(network?.Labels[LABELS.owner], it.home.owner);
  assert.ok(container(it.fake, it.self).networks.has(network?.Name ?? ''));
  // Neither the controller itself nor a stranger's container is a NAS service or ours to end.
  assert.equal(await it.home.containers.servicesMemory(), 0);
  await assert.rejects(it.home.containers.removeContainer('local', it.self));
});

test('a models folder that only the controller sees is a problem, and fails the start', async (t) => {
  const it = await inContainer(t, 'nas', []);
  await it.home.containers.open(it.home.reports.add);
  const { problem } = await it.home.reports.next('problem_seen');
  assert.equal(problem.code, 'models_not_shared');
  const started = await it.home.containers.start(planFor(it.engine, 'i1'));
  assert.match((!started.ok && started.evidence.error) || '', /is not a mount/);
});

test('holders without instances are cleared, those with instances stay', async (t) => {
  const it = await bench(t);
  await running(it);
  await it.home.containers.close({ holders: false });
  const second = it.home.again();
  t.after(() => second.containers.close({ holders: false }));
  const labels = { [LABELS.owner]: it.home.owner, [LABELS.role]: 'holder', [LABELS.engine]: 'local' };
  const body = { Image: 'llama:cpu', Entrypoint: ['sleep'], Labels: labels };
  const spare = it.fake.engine.create('spare', body);
  await second.containers.open(second.reports.add);
  assert.ok(!it.fake.engine.containers.has(spare.id));
  assert.equal((await it.home.own()).length, 2);
});

test('a holder that cannot be removed makes no engine unreachable', { timeout: PATIENCE_MS }, async (t) => {
  const it = await bench(t);
  const labels = { [LABELS.owner]: it.home.owner, [LABELS.role]: 'holder', [LABELS.engine]: 'local' };
  await it.home.docker.createContainer({ Image: 'llama:cpu', Labels: labels });
  it.fake.refuses = /^DELETE/;
  await it.home.containers.open(it.home.reports.add);
  assert.ok(it.home.reports.all.some(({ type }) => type === 'containers_observed'));
  assert.deepEqual(
    it.home.reports.all.filter(({ type }) => type === 'engine_unreachable'),
    [],
  );
});

test('nothing is left when the home closes while a holder is being made', async (t) => {
  const it = await bench(t);
  await running(it);
  await it.home.containers.remove('i1', 'kill');
  const [holder = ''] = await it.home.own();
  it.fake.delay = /^POST .*\/(create|start)/;
  await it.home.docker.getContainer(holder).remove({ force: true });
  await it.fake.asked(/^POST .*\/containers\/create/);
  const closed = it.home.containers.close({ holders: true });
  // Time enough for a close that would not wait.
  for (let turn = 0; turn < 200; turn++) await setImmediate();
  it.fake.release();
  await closed;
  assert.deepEqual(await it.home.own(), []);
});

test('a holder that could not be started is not left behind, and tried again by itself', async (t) => {
  const it = await bench(t, {}, { timing: { observe: 5 } });
  it.fake.engine.startFails = /holder/;
  await it.home.containers.open(it.home.reports.add);
  const { problem } = await it.home.reports.next('problem_seen');
  assert.equal(problem.code, 'holder_failed');
  assert.deepEqual(await it.home.own(), []);
  it.fake.engine.startFails = null;
  assert.equal((await it.home.reports.next('problem_gone')).code, 'holder_failed');
});

test('a session that Docker refuses leaves no connection behind', async (t) => {
  const it = await bench(t);
  it.fake.engine.sessions.refused = true;
  await running(it);
  assert.ok(it.fake.requests.some((line) => /^POST .*\/exec\/\w+\/start/.test(line)));
  await until(() => it.fake.attached() === 0);
});

test('a pause that finds a thread busy is tried again, and not for ever', async (t) => {
  const it = await bench(t);
  const id = await running(it);
  it.fake.engine.busyPauses = 1000;
  await assert.rejects(
    it.home.containers.harm('i1', 'pause'),
    (thrown) => thrown instanceof AppError && thrown.code === 'not_possible' && /freeze/.test(thrown.message),
  );
  assert.equal(container(it.fake, id).status, 'running');
  it.fake.engine.busyPauses = 2;
  await it.home.containers.harm('i1', 'pause');
  assert.equal(container(it.fake, id).status, 'paused');
});
