/** Which placements may be tried, and in which order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedPlacements, choices, nextRetry } from '../../app/core/placement.ts';
import type { Mode, Placement } from '../../app/core/types.ts';
import { model, policy, profile } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const three = (mode: Mode = 'auto') =>
  model('chat', {
    mode,
    placements: ['gpu', 'split', 'cpu'],
    profiles: { ...model('chat').profiles, split: profile('chat', 'split') },
  });

test('the mode says which of the placements that can be built are allowed', () => {
  const table: readonly [Mode, readonly Placement[]][] = [
    ['auto', ['gpu', 'split', 'cpu']],
    ['gpu', ['gpu', 'split']],
    ['cpu', ['cpu']],
    ['off', []],
  ];
  for (const [mode, allowed] of table) assert.deepEqual(allowedPlacements(three(mode)), allowed, mode);
  const { split: _, ...others } = three().profiles;
  assert.deepEqual(allowedPlacements({ ...three(), profiles: others }), ['gpu', 'cpu']);
});

const chat = model('chat');

function out(world: World, placement: Placement, retryAt: number): void {
  const outage = {
    placement,
    reason: 'reset',
    detail: null,
    since: world.now(),
    retryAt,
    failures: 1,
  } as const;
  world.loop.state.models.get('chat')?.outages.set(placement, outage);
}

/** What serves: an instance on this placement, ready or just starting. */
function serving(placement: 'gpu' | 'cpu', holdStarts = false): World {
  const only = model('chat', { mode: placement });
  const world = makeWorld({ policy: policy([only]), holdStarts });
  world.request();
  assert.deepEqual(world.placements(), [placement]);
  return world;
}

test('a placement on probation gives way to any other one that is ready, and to none that is not', () => {
  const order = (world: World, tried: readonly Placement[] = []) =>
    choices(world.loop.state, chat, { tried: new Set(tried), continues: null }, 1_000);
  const idle = makeWorld({ policy: policy([chat]) });
  const worlds: readonly [string, World, readonly Placement[]][] = [
    ['nothing is there', idle, ['gpu', 'cpu']],
    ['the CPU is ready', serving('cpu'), ['cpu', 'gpu']],
    ['the CPU only starts', serving('cpu', true), ['gpu', 'cpu']],
    ['it is ready itself', serving('gpu'), ['gpu', 'cpu']],
  ];
  for (const [name, world, expected] of worlds) {
    assert.deepEqual(order(world), ['gpu', 'cpu'], 'in service');
    out(world, 'gpu', 1_001);
    assert.deepEqual(order(world), ['cpu'], 'out of service');
    out(world, 'gpu', 1_000);
    assert.deepEqual(order(world), expected, name);
    assert.deepEqual(order(world, ['cpu']), ['gpu', 'cpu'], 'what failed this very request comes last');
    assert.deepEqual(order(world, ['gpu']), ['cpu', 'gpu']);
  }
});

test('the next try of what is out of service is the earliest one, in whatever order', () => {
  const retry = (gpu: number, cpu: number) => {
    const world = makeWorld({ policy: policy([chat]) });
    out(world, 'gpu', gpu);
    out(world, 'cpu', cpu);
    return nextRetry(world.loop.state, chat);
  };
  assert.deepEqual([retry(10, 20), retry(20, 10)], [10, 10]);
  assert.equal(nextRetry(makeWorld({ policy: policy([chat]) }).loop.state, chat), Number.POSITIVE_INFINITY);
});
