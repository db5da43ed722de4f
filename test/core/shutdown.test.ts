/** The end of the controller: what is waited for, what is told, once. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../app/core/decide.ts';
import { settle } from '../../app/core/schedule.ts';
import type { State } from '../../app/core/state.ts';
import { model, policy } from '../support/model.ts';
import { makeWorld, RESET, type World } from '../support/world.ts';

const NOW = { mono: 5_000, wall: 9_000 };
const home = (instances: 'stop' | 'keep') =>
  policy([model('chat')], { shutdown: { instances, graceMs: 25_000 } });
const types = (world: World) => world.effects.map(({ type }) => type);

/** One request of `chat` has failed for good, and whether it is poison is open. */
function judged(instances: 'stop' | 'keep'): { world: World; id: number } {
  const world = makeWorld({ policy: home(instances), holdRemovals: true });
  const id = world.request();
  world.end(id, RESET);
  world.end(id, RESET);
  assert.equal(world.loop.state.judged.size, 1);
  return { world, id };
}

test('a second wish to end changes nothing of the first', () => {
  const world = makeWorld({ policy: home('stop') });
  world.request();
  world.submit({ type: 'shutdown' });
  assert.deepEqual(decide(world.loop.state, { type: 'shutdown' }, NOW), {
    changes: [],
    facts: [],
    effects: [],
  });
});

test('those who wait are told in words', () => {
  const world = makeWorld({ policy: home('stop'), holdStarts: true });
  const id = world.request();
  world.submit({ type: 'shutdown' });
  const message = 'Llamastead is shutting down.';
  assert.deepEqual(world.refusalOf(id), { code: 'capacity', message, retryAfter: 10 });
});

test('instances that are to be kept stay, and nobody who runs there is waited for longer than the grace', () => {
  const world = makeWorld({ policy: home('keep') });
  const [, second] = [world.request(), world.request()];
  world.end(1);
  world.submit({ type: 'shutdown' });
  assert.deepEqual([world.placements(), types(world).includes('stopped')], [['gpu'], false]);
  world.end(second);
  assert.deepEqual([world.placements(), types(world).at(-1)], [['gpu'], 'stopped']);
  assert.equal(world.factTypes().includes('model_unloading'), false);
});

test('instances that are to be kept stay also where we cut off what runs there after the grace', () => {
  const world = makeWorld({ policy: home('keep') });
  const [, second] = [world.request(), world.request()];
  world.submit({ type: 'shutdown' });
  world.advance(25_000);
  assert.equal(types(world).at(-1), 'close_connections');
  world.end(1, { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'more' });
  world.end(second, RESET);
  assert.deepEqual([world.placements(), types(world).at(-1)], [['gpu'], 'stopped']);
  assert.equal(types(world).includes('remove_instance'), false);
  assert.equal(world.loop.state.models.get('chat')?.outages.size, 0);
  assert.deepEqual(
    [1, second].map((id) => world.refusalOf(id)?.code),
    ['failed_after_output', 'capacity'],
  );
});

describe('a request whose end waits for evidence', () => {
  test('is waited for, also where the instances stay', () => {
    const { world } = judged('keep');
    world.submit({ type: 'shutdown' });
    assert.equal(types(world).includes('stopped'), false);
  });

  test('has its end before the controller has, at the latest when the time is over', () => {
    const { world, id } = judged('keep');
    const state: State = structuredClone(world.loop.state);
    state.instances.clear();
    const request = state.requests.get(id);
    assert.ok(request?.phase.phase === 'judged');
    request.phase = { ...request.phase, until: 99_000 };
    state.shutdown = { deadline: NOW.mono, cut: true, told: false };
    const { effects, changes } = settle(state, NOW);
    assert.deepEqual(effects, [
      { type: 'refuse', request: id, refusal: request.phase.otherwise },
      { type: 'stopped' },
    ]);
    assert.deepEqual(changes.at(-1), {
      type: 'shutdown_set',
      shutdown: { deadline: NOW.mono, cut: true, told: true },
    });
  });
});
