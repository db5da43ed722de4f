/** How long a wait is expected to be, in numbers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '../../app/core/types.ts';
import {
  backInMs,
  expectedWaitMs,
  loadMs,
  memoryFreeInMs,
  readyInMs,
  retrySeconds,
} from '../../app/core/waits.ts';
import { GIB, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const on = (placement: 'gpu' | 'cpu', parallel: number): Model =>
  model('chat', {
    placements: [placement],
    profiles: { [placement]: profile('chat', placement, { parallel }) },
  });
const waitMs = (world: World, of: Model, ahead: number) =>
  expectedWaitMs(world.loop.state, of, ahead, world.now());

/** A model that is loaded in `loadMs` and answered one request in `serviceMs`. */
function served(of: Model, load: number, service: number): World {
  const world = makeWorld({ policy: policy([of]), holdStarts: true });
  const id = world.request();
  world.advance(load);
  world.finishStart();
  world.advance(service);
  world.end(id);
  return world;
}

test('Retry-After is in whole seconds, from 1 to 300', () => {
  assert.deepEqual(
    [-5, 0, 1, 1_000, 1_001, 299_001, 300_000, 9e9].map(retrySeconds),
    [1, 1, 1, 1, 2, 300, 300, 300],
  );
});

describe('the wait in the line', () => {
  test('is those ahead and oneself, by the slots and the mean time of a service', () => {
    const chat = on('gpu', 4);
    const world = served(chat, 2_000, 8_000);
    assert.equal(waitMs(world, chat, 0), 2_000);
    assert.equal(waitMs(world, chat, 7), 16_000);
  });

  test('is shorter by each placement that serves', () => {
    const both = model('chat');
    const world = makeWorld({ policy: policy([both]) });
    const first = world.request();
    world.end(first, RESET);
    world.advance(4_000);
    world.end(first);
    world.request();
    world.advance(30_000);
    assert.deepEqual([...world.placements()].sort(), ['cpu', 'gpu']);
    // The GPU was never measured: 5 s. Two slots each.
    assert.equal(Math.round(waitMs(world, both, 0)), Math.round(1 / (2 / 5_000 + 2 / 4_000)));
  });

  test('begins with the load where nothing is there, and with what is left of it where it runs', () => {
    const chat = on('gpu', 2);
    const world = makeWorld({ policy: policy([chat]), holdStarts: true });
    assert.equal(waitMs(world, chat, 0), 10_000, 'a load that was never measured');
    assert.equal(waitMs(world, chat, 2), 15_000, 'and a service that was not');
    world.request();
    world.advance(4_000);
    assert.equal(waitMs(world, chat, 0), 6_000);
    world.advance(20_000);
    assert.equal(waitMs(world, chat, 0), 0, 'overdue');
    world.finishStart();
    assert.equal(loadMs(world.loop.state, 'chat', 'gpu'), 24_000);
  });

  test('begins with the end of the outage', () => {
    const chat = on('gpu', 2);
    const world = served(chat, 3_000, 1_000);
    world.end(world.request(), RESET);
    assert.equal(backInMs(world.loop.state, chat, world.now()), 33_000);
    assert.equal(waitMs(world, chat, 0), 33_000);
    world.advance(10_000);
    assert.equal(readyInMs(world.loop.state, 'chat', 'gpu', world.now()), 23_000);
  });

  test('is that of the placement that is ready first', () => {
    const both = model('chat');
    const world = makeWorld({
      policy: policy([both]),
      startFails: () => ({ ...DEAD, log: ['CUDA error: out of memory'] }),
    });
    world.request({ deadlineMs: 100 });
    // Nothing was ever loaded: 10 s. The CPU is tried again in 2 s, the GPU in 30 s.
    assert.equal(waitMs(world, both, 0), 12_000);
    assert.equal(backInMs(world.loop.state, both, world.now()), 12_000);
  });

  test('is that of the GPU where it is back before the CPU', () => {
    const both = model('chat');
    const world = makeWorld({
      policy: policy([both], { failover: { resume: 'never', returnAfterMs: 500 } }),
      startFails: () => ({ ...DEAD, log: ['CUDA error: out of memory'] }),
    });
    world.request({ deadlineMs: 100 });
    assert.equal(waitMs(world, both, 0), 10_500);
  });

  test('is that of the CPU where the mode allows nothing', () => {
    const off = model('chat', { mode: 'off' });
    assert.equal(waitMs(makeWorld({ policy: policy([off]) }), off, 0), 10_000);
  });
});

test('a placement that serves is ready, and none is out of service', () => {
  const chat = on('cpu', 1);
  const world = served(chat, 3_000, 1_000);
  assert.equal(readyInMs(world.loop.state, 'chat', 'cpu', world.now()), 0);
  assert.equal(readyInMs(world.loop.state, 'chat', 'gpu', world.now()), 10_000);
  assert.equal(backInMs(world.loop.state, chat, world.now()), null);
});

test('memory is free when the longest kind of service on another model is over', () => {
  const names = ['a', 'b', 'c'];
  const models = names.map((name) =>
    model(name, { placements: ['cpu'], profiles: { cpu: profile(name, 'cpu') } }),
  );
  const world = makeWorld({ policy: policy(models), needOf: () => need(GIB) });
  const freeIn = (name: string) => memoryFreeInMs(world.loop.state, name);
  assert.equal(freeIn('a'), null);
  const own = world.request({ model: 'a' });
  assert.equal(freeIn('a'), null, 'its own instance does not count');
  assert.equal(freeIn('b'), 5_000, 'a service that was never measured');
  world.advance(7_000);
  world.end(own);
  assert.equal(freeIn('b'), 0, 'an idle one gives way at once');
  world.request({ model: 'a' });
  assert.equal(freeIn('b'), 7_000);
  world.request({ model: 'c' });
  assert.equal(freeIn('b'), 7_000, 'the longest');
});
