/**
 * The reader of NVIDIA cards' memory on a real Docker engine. There is no such card here: a program in its container
 * prints what nvidia-smi prints, and the container is given no device.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { before, describe, type TestContext, test } from 'node:test';
import Docker from 'dockerode';
import { dockerApi } from '../../app/adapters/docker/api.ts';
import { cardMeter } from '../../app/adapters/docker/card-meter.ts';
import { meterOptions } from '../../app/adapters/docker/container-spec.ts';
import { gpuAccess } from '../../app/adapters/docker/gpu-access.ts';
import { guarded } from '../../app/adapters/docker/guarded.ts';
import { LABELS, labelsFor } from '../../app/adapters/docker/names.ts';
import { systemClock } from '../../app/clock.ts';
import type { ContainersInput } from '../../app/ports.ts';
import { type Bench, ensureBench, ensureNvidiaSmi } from '../home/bench.ts';
import { BUILDING } from '../support/building.ts';
import { homeOn } from '../support/containers/bench.ts';
import { deferred } from '../support/defer.ts';
import { until } from '../support/until.ts';
import { realEngine } from './real-engine.ts';

const MIB = 1024 * 1024;
const [FIRST, SECOND] = ['0000:01:00.0', '0000:0a:00.0'];
const CARDS = {
  [FIRST]: { total: 12288 * MIB, used: 1283 * MIB },
  [SECOND]: { total: 24564 * MIB, used: 464 * MIB },
};
const quiet = { debug() {}, info() {}, warn() {} };

let bench: Bench;
let image: string;

before(async () => {
  bench = await ensureBench();
  image = await ensureNvidiaSmi(bench);
}, BUILDING);

/** A home with the reader alone, connected; all of it is gone afterwards. */
async function reader(t: TestContext) {
  const owner = {
    home: `meter-${randomBytes(3).toString('hex')}`,
    owner: randomUUID(),
    engine: 'local',
  };
  const api = dockerApi(bench.socket, systemClock, 30_000);
  await api.connect();
  const change = guarded(api, owner.owner, () => ({}));
  const told: ContainersInput[] = [];
  const meter = cardMeter({
    ...{ owner, api, change, clock: systemClock, log: quiet, access: {}, image: () => image },
    report: (input) => void told.push(input),
  });
  const docker = new Docker({ socketPath: bench.socket });
  const own = async () =>
    (await api.list({ all: true, labels: [`${LABELS.owner}=${owner.owner}`] })).map(({ Id }) => Id);
  const defer = deferred(t);
  defer(async () => {
    for (const id of await own()) await docker.getContainer(id).remove({ force: true });
  });
  defer(() => meter.close());
  return {
    ...{ owner, change, meter, told, docker, own },
    reads: (cards: object) => until(() => JSON.stringify(meter.readings.recent()) === JSON.stringify(cards)),
    /** There is one, and another than this. */
    replaced: (id: string) =>
      until(async () => {
        const ids = await own();
        return ids.length === 1 && !ids.includes(id);
      }),
    /** Does something within it, as the driver would. */
    within: (script: string) => own().then(([id = '']) => bench.docker.run(['exec', id, 'sh', '-c', script])),
  };
}

describe('the reader of NVIDIA cards on a real engine', { timeout: 240_000, concurrency: 4 }, () => {
  test('runs as one small container, whose output is read and kept nowhere', async (t) => {
    const it = await reader(t);
    it.meter.connected();
    await it.reads(CARDS);
    const [id = '', ...more] = await it.own();
    assert.deepEqual(more, []);
    const { HostConfig, Config, LogPath, State } = await it.docker.getContainer(id).inspect();
    assert.equal(HostConfig.LogConfig?.Type, 'none');
    assert.equal(LogPath, '');
    assert.equal(HostConfig.Memory, 128 * MIB);
    assert.equal(Config.Labels[LABELS.role], 'probe');
    assert.equal(State.OOMKilled, false);
    await it.meter.close();
    assert.deepEqual(await it.own(), []);
    assert.deepEqual(it.told, []);
  });

  test('a fresh reading shows what changed', async (t) => {
    const it = await reader(t);
    it.meter.connected();
    await it.reads(CARDS);
    await it.within("printf '00000000:01:00.0, 12288, 12288\\n00000000:0A:00.0, 24564, 24100\\n' > /cards");
    assert.equal((await it.meter.readings.fresh())[FIRST]?.used, 0);
  });

  test('one that was killed is replaced', async (t) => {
    const it = await reader(t);
    it.meter.connected();
    await it.reads(CARDS);
    const [killed = ''] = await it.own();
    await it.docker.getContainer(killed).kill();
    await it.replaced(killed);
    await it.reads(CARDS);
  });

  test('one whose devices were taken away is made anew, which gives them back', async (t) => {
    const it = await reader(t);
    it.meter.connected();
    await it.reads(CARDS);
    const [broken = ''] = await it.own();
    await it.within("echo 'Failed to initialize NVML: Unknown Error' > /broken");
    await it.replaced(broken);
    await it.reads(CARDS);
    assert.deepEqual(it.told, [], 'once is no problem of a person');
  });

  test('one that a crash left behind makes way', async (t) => {
    const it = await reader(t);
    const left = await it.change.create(meterOptions(it.owner, image, {}, 'abcdef'));
    await it.change.start(left);
    it.meter.connected();
    await it.replaced(left);
    await it.reads(CARDS);
  });
});

test('on an engine without the toolkit the reason is told once, in its words, and nothing stays', async (t) => {
  const images = () => ({ holder: bench.images.cpu, all: [image], used: () => [], cards: () => image });
  const home = homeOn(realEngine(bench), { images });
  t.after(() => home.clear());
  await home.containers.open(home.reports.add);
  const { problem } = await home.reports.next('problem_seen');
  assert.equal(problem.code, 'gpu_memory_unread');
  assert.match(problem.text, /could not select device driver/);
  assert.match(problem.fix, /docker run --rm --gpus all --entrypoint nvidia-smi .* NVIDIA container toolkit/);
  await home.reports.next('containers_observed');
  await until(async () => (await home.own()).length === 1);
  assert.deepEqual(await Promise.all(home.containers.devices.map(({ cards }) => cards())), [{}]);
});

test("another home's reader is no user of the GPU; a container with the same devices is", async (t) => {
  const home = homeOn(realEngine(bench));
  t.after(() => home.clear());
  await home.containers.open(home.reports.add);
  const owner = { home: 'another', owner: randomUUID(), engine: 'local' };
  const made: string[] = [];
  t.after(() => Promise.all(made.map((id) => home.docker.getContainer(id).remove({ force: true }))));
  for (const Labels of [labelsFor(owner, 'probe'), labelsFor(owner, 'instance'), {}]) {
    const options = { Image: image, Cmd: ['true'], Labels, HostConfig: { ...gpuAccess('nvidia') } };
    made.push((await home.docker.createContainer(options)).id);
  }
  const others = new Map((await home.containers.others()).map((other) => [other.container, other]));
  assert.deepEqual(
    made.map((id) => others.get(id)?.gpus),
    [[], ['nvidia'], ['nvidia']],
  );
});
