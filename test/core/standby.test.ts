/** How ready the CPU waits while the GPU serves: nothing, its file in the page cache, or its instance. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { snapshot } from '../../app/core/snapshot.ts';
import { wasCached } from '../../app/core/standby.ts';
import type { Model, Profile } from '../../app/core/types.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const standing = (standby: Profile['standby'], more: Partial<Model> = {}) =>
  model('chat', {
    profiles: { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { standby }) },
    ...more,
  });

function home(standby: Profile['standby'], more: Partial<Model> = {}, options: Partial<WorldOptions> = {}) {
  const world = makeWorld({ policy: policy([standing(standby, more), model('other')]), ...options });
  const reads = () => world.effects.filter((effect) => effect.type === 'read_ahead').length;
  const read = (seconds = 3) =>
    world.submit({
      type: 'read_ahead_done',
      model: 'chat',
      hash: 'chat-cpu',
      read: { bytes: 4 * GIB, seconds },
    });
  const shown = () => {
    const { mono } = world.now();
    return snapshot(world.loop.state, { mono, wall: mono }, { seq: 0, version: '', iso: String }).models[0]
      ?.standby;
  };
  return { world, reads, read, shown };
}

const cpuStarts = (world: World) => world.started.filter((plan) => plan.profile.placement === 'cpu').length;
const chatPlacements = (world: World) =>
  [...world.loop.state.instances.values()]
    .filter(({ model: of }) => of === 'chat')
    .map((one) => one.placement);

describe('cold', () => {
  test('does nothing while the GPU serves', () => {
    const { world, reads, shown } = home('cold');
    world.end(world.request());
    world.advance(60_000);
    assert.deepEqual([reads(), cpuStarts(world)], [0, 0]);
    assert.equal(shown()?.state, 'off');
  });
});

describe('cached', () => {
  test('reads the file once the GPU serves, and again every ten minutes while it does', () => {
    const { world, reads, read, shown } = home('cached', { idleUnloadMs: null });
    assert.equal(reads(), 0);
    world.end(world.request());
    assert.equal(reads(), 1);
    assert.equal(shown()?.state, 'reading');
    world.advance(1_000);
    assert.equal(reads(), 1, 'one at a time');
    read();
    assert.deepEqual([shown()?.state, shown()?.bytes, shown()?.readSeconds], ['kept', 4 * GIB, 3]);
    world.advance(599_999);
    assert.equal(reads(), 1);
    world.advance(1);
    assert.equal(reads(), 2);
  });

  test('reads nothing once the GPU is unloaded', () => {
    const { world, reads, read, shown } = home('cached', { idleUnloadMs: 300_000 });
    world.end(world.request());
    read();
    world.advance(300_000);
    assert.deepEqual(world.placements(), []);
    world.advance(3_600_000);
    assert.equal(reads(), 1);
    assert.equal(shown()?.state, 'waiting');
  });

  test('is left out, and says so, where the model would not fit', () => {
    const needOf = ({ gpu }: Profile) => need(gpu === null ? 20 * GIB : GIB, gpu === null ? 0 : GIB);
    const { world, reads, shown } = home('cached', {}, { needOf });
    world.end(world.request());
    assert.equal(reads(), 0);
    assert.equal(shown()?.state, 'no_room');
    assert.equal(shown()?.need, 20 * GIB);
  });

  test('shows what a start on the CPU takes with it and without', () => {
    const { world, read, shown } = home('cached', {}, { holdStarts: true });
    const start = (ms: number) => {
      world.advance(ms);
      world.finishStart();
    };
    const id = world.request();
    start(1_000);
    world.end(id, RESET);
    start(9_000);
    assert.deepEqual(shown()?.starts, { cold: 9, cached: null });
    world.end(id);
    world.advance(30_000);
    start(1_000);
    read();
    const next = world.request();
    assert.equal(world.grantOf(next)?.placement, 'gpu');
    world.end(next, RESET);
    start(2_000);
    assert.deepEqual(shown()?.starts, { cold: 9, cached: 2 });
  });
});

describe('warm', () => {
  test('keeps the CPU ready while the GPU serves', () => {
    const { world, shown } = home('warm');
    const id = world.request();
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    assert.deepEqual([shown()?.state, shown()?.bytes], ['ready', GIB]);
    world.end(id);
    assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  });

  test('is no room for requests beyond the slots of the GPU', () => {
    const { world } = home('warm');
    const [first, , third] = [world.request(), world.request(), world.request()];
    assert.equal(world.grantOf(third ?? 0), undefined);
    world.end(first ?? 0);
    assert.equal(world.grantOf(third ?? 0)?.placement, 'gpu');
  });

  test('answers at once when the GPU fails', () => {
    const { world } = home('warm');
    const id = world.request();
    const starts = cpuStarts(world);
    world.end(id, RESET);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(cpuStarts(world), starts);
    world.end(id);
    world.advance(30_000);
    assert.deepEqual(chatPlacements(world).sort(), ['cpu', 'gpu']);
  });

  test('goes with the GPU when the model is idle, not before', () => {
    const { world } = home('warm', { idleUnloadMs: 300_000 });
    world.end(world.request());
    world.advance(200_000);
    world.end(world.request());
    world.advance(299_999);
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
    world.advance(1);
    assert.deepEqual(chatPlacements(world), []);
    world.advance(3_600_000);
    assert.deepEqual(chatPlacements(world), []);
  });

  test('takes no memory from another model, and tries again', () => {
    const needOf = ({ gpu }: Profile) => need(gpu === null ? 6 * GIB : 5 * GIB, gpu === null ? 0 : GIB);
    const { world, shown } = home('warm', { idleUnloadMs: null }, { needOf, memory: host(14 * GIB) });
    world.end(world.request({ model: 'other' }));
    world.end(world.request());
    assert.equal(world.loop.state.instances.size, 2);
    assert.equal(cpuStarts(world), 0);
    assert.equal(shown()?.state, 'no_room');
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'other' } });
    world.advance(60_000);
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
  });

  test('gives way to a load, also of a model that is kept loaded', () => {
    const needOf = ({ gpu }: Profile) => need(gpu === null ? 6 * GIB : 5 * GIB, gpu === null ? 0 : GIB);
    const { world } = home('warm', { keepLoaded: true }, { needOf, memory: host(14 * GIB) });
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
    const other = world.request({ model: 'other' });
    assert.equal(world.grantOf(other)?.placement, 'gpu');
    assert.deepEqual(chatPlacements(world), ['gpu']);
  });

  test('goes when it is switched off, and comes when it is switched on, without a restart of the GPU', () => {
    const { world } = home('warm');
    world.end(world.request());
    const set = (standby: Profile['standby']) =>
      world.submit({ type: 'configured', policy: policy([standing(standby)]), why: 'reload' });
    set('cold');
    assert.deepEqual(chatPlacements(world), ['gpu']);
    set('warm');
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
    assert.equal(world.started.length, 3);
  });

  test('is not started while the controller ends', () => {
    const { world } = home('warm', {}, { holdStarts: true });
    world.request();
    world.submit({ type: 'shutdown' });
    world.finishStart();
    assert.equal(cpuStarts(world), 0);
  });
});

describe('an answer that is slow to begin', () => {
  test('starts the CPU ahead, which goes when it was not needed', () => {
    const { world } = home('cold');
    const id = world.request();
    world.submit({ type: 'request_slow', request: id });
    assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
    world.end(id);
    assert.deepEqual(chatPlacements(world), ['gpu']);
  });

  test('moves to the CPU that waits for it', () => {
    const { world } = home('cold');
    const id = world.request();
    world.submit({ type: 'request_slow', request: id });
    const starts = cpuStarts(world);
    world.end(id, { kind: 'failed', failure: { kind: 'first_token_deadline' }, forwarded: 'nothing' });
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(cpuStarts(world), starts);
  });

  test('starts nothing where it could not move', () => {
    const { world } = home('cold', { mode: 'gpu' });
    world.submit({ type: 'request_slow', request: world.request() });
    assert.deepEqual(chatPlacements(world), ['gpu']);
    const never = home('cold');
    never.world.submit({ type: 'request_slow', request: never.world.request({ neverReplay: true }) });
    assert.deepEqual(chatPlacements(never.world), ['gpu']);
  });

  test('starts nothing any more where the mode forbids it meanwhile', () => {
    for (const mode of ['gpu', 'off'] as const) {
      const { world } = home('cold', {}, { holdStarts: true });
      const id = world.request();
      world.finishStart();
      world.submit({ type: 'request_slow', request: id });
      world.finishStart();
      assert.deepEqual(chatPlacements(world), ['gpu', 'cpu']);
      const changed = policy([standing('cold', { mode }), model('other')]);
      world.submit({ type: 'configured', policy: changed, why: 'settings' });
      assert.deepEqual([chatPlacements(world), cpuStarts(world)], [['gpu'], 1], mode);
    }
  });

  test('takes no memory for it, and does not try again and again', () => {
    const needOf = ({ gpu }: Profile) => need(gpu === null ? 20 * GIB : GIB, gpu === null ? 0 : GIB);
    const { world } = home('cold', {}, { needOf });
    const id = world.request();
    world.submit({ type: 'request_slow', request: id });
    assert.deepEqual(chatPlacements(world), ['gpu']);
    assert.equal(world.loop.state.slow.size, 0);
  });
});

describe('a standby that is not to be had now', () => {
  test('is not started anew at once where the CPU failed a moment ago', () => {
    const { world } = home('warm', { idleUnloadMs: null });
    world.end(world.request());
    const cpu = [...world.loop.state.instances.values()].find(({ placement }) => placement === 'cpu');
    world.submit({ type: 'instance_exited', instance: cpu?.id ?? '', evidence: DEAD });
    assert.deepEqual(chatPlacements(world), ['gpu']);
    assert.equal(cpuStarts(world), 1);
  });

  test('is read again a minute after its file could not be read', () => {
    const { world, reads } = home('cached', { idleUnloadMs: null });
    world.end(world.request());
    world.submit({ type: 'read_ahead_done', model: 'chat', hash: 'chat-cpu', read: null });
    world.advance(59_999);
    assert.equal(reads(), 1);
    world.advance(1);
    assert.equal(reads(), 2);
  });

  test('is not read while the CPU answers itself', () => {
    const { world, reads, read } = home('cached', { idleUnloadMs: null });
    const id = world.request();
    read();
    world.end(id, RESET);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    world.advance(600_000);
    assert.deepEqual(chatPlacements(world).sort(), ['cpu', 'gpu']);
    assert.equal(reads(), 1);
  });

  test('of a model that is gone means nothing when its file was read', () => {
    const { world } = home('cached');
    world.submit({ type: 'read_ahead_done', model: 'gone', hash: 'gone-cpu', read: null });
    assert.equal(world.loop.state.models.has('gone'), false);
  });

  test('shows that it waits, that it starts, and that it is ready', () => {
    const { world, shown } = home('warm', {}, { holdStarts: true });
    assert.equal(shown()?.state, 'waiting');
    world.request();
    world.finishStart();
    assert.equal(shown()?.state, 'starting');
    world.finishStart();
    assert.equal(shown()?.state, 'ready');
  });
});

test('a file counts as cached for twenty minutes, and for its own profile', () => {
  const cpu = profile('chat', 'cpu');
  const at = (mono: number, hash = cpu.hash) =>
    wasCached(
      {
        reading: false,
        retryAt: 0,
        short: null,
        starts: {},
        cached: { hash, at: 1_000, bytes: 1, seconds: 1 },
      },
      cpu,
      mono,
    );
  assert.deepEqual([at(1_000), at(1_200_999), at(1_201_000)], [true, true, false]);
  assert.equal(at(1_000, 'another'), false);
});

describe('an answer that is slow to begin', () => {
  const slow = (world: World, id: number) => {
    world.submit({ type: 'request_slow', request: id });
    return [...world.loop.state.slow];
  };

  test('is expected on the CPU only where it runs, on a better placement, and the CPU has not failed it', () => {
    const { world } = home('cold');
    const ids = [1, 2, 3].map(() => world.request());
    assert.deepEqual(slow(world, ids[2] ?? 0), [], 'it waits');
    world.loop.state.requests.get(ids[1] ?? 0)?.tried.add('cpu');
    assert.deepEqual(slow(world, ids[1] ?? 0), [], 'the CPU failed it');
    const only = home('cold', { mode: 'cpu' }).world;
    assert.deepEqual(slow(only, only.request()), [], 'it is there');
    assert.deepEqual(slow(world, 99), [], 'it has ended');
    assert.deepEqual(slow(world, ids[0] ?? 0), [ids[0]]);
  });

  test('starts no CPU that is out of service', () => {
    const { world } = home('cold');
    const outage = {
      placement: 'cpu',
      reason: 'reset',
      detail: null,
      since: world.now(),
      failures: 1,
    } as const;
    world.loop.state.models.get('chat')?.outages.set('cpu', { ...outage, retryAt: 60_000 });
    slow(world, world.request());
    assert.equal(cpuStarts(world), 0);
  });
});
