/** How ready the CPU waits while the GPU serves: nothing, its file in the page cache, or its instance. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { snapshot } from '../../app/core/snapshot.ts';
import type { Model, Profile } from '../../app/core/types.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

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

  test('takes no memory for it, and does not try again and again', () => {
    const needOf = ({ gpu }: Profile) => need(gpu === null ? 20 * GIB : GIB, gpu === null ? 0 : GIB);
    const { world } = home('cold', {}, { needOf });
    const id = world.request();
    world.submit({ type: 'request_slow', request: id });
    assert.deepEqual(chatPlacements(world), ['gpu']);
    assert.equal(world.loop.state.slow.size, 0);
  });
});
