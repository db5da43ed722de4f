/** A server error of an unknown cause, by what is known of the device's memory. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeviceLow, tellsMemory } from '../../app/core/device-memory.ts';
import type { Outcome } from '../../app/core/request.ts';
import { emptyState } from '../../app/core/state.ts';
import type { Gpu, HostMemory } from '../../app/core/types.ts';
import { GIB, GPU, host, MIB, model, policy, profile } from '../support/model.ts';
import { makeWorld, type World } from '../support/world.ts';

const UNKNOWN: Outcome = {
  kind: 'failed',
  failure: { kind: 'http', status: 500, message: 'Internal Server Error' },
  forwarded: 'nothing',
};

const SHARED: Gpu = { ...GPU, memory: 'shared', total: null };
const FIRST = '0000:03:00.0';
const SECOND = '0000:04:00.0';
const CARD: Gpu = { ...GPU, cards: { Vulkan0: FIRST } };
const BOTH: Gpu = { ...CARD, devices: ['Vulkan0', 'Vulkan1'], cards: { Vulkan0: FIRST, Vulkan1: SECOND } };

/** Of cards of 8 GiB, by their addresses, what is free. */
function cards(free: Readonly<Record<string, number>>): HostMemory {
  const told = Object.entries(free).map(([pci, bytes]) => [pci, { total: 8 * GIB, used: 8 * GIB - bytes }]);
  return { ...host(12 * GIB), cards: Object.fromEntries(told) };
}

/** A request runs on this GPU; the host was last read as `before`. */
function runs(gpu: Gpu, before: HostMemory): { readonly world: World; readonly id: number } {
  const profiles = { gpu: profile('chat', 'gpu', { gpu }), cpu: profile('chat', 'cpu') };
  const world = makeWorld({
    policy: policy([model('chat', { profiles })], { gpus: [gpu] }),
    holdRemovals: true,
  });
  const id = world.request();
  assert.equal(world.grantOf(id)?.placement, 'gpu');
  world.submit({ type: 'host_sampled', host: before });
  return { world, id };
}

/** The end of its attempt, when a reading shows `memory`; where it went. */
function ends({ world, id }: ReturnType<typeof runs>, memory: HostMemory): 'passed on' | 'cpu' | 'waiting' {
  world.setMemory(memory);
  world.end(id, UNKNOWN);
  if (world.effects.some(({ type }) => type === 'pass_on')) return 'passed on';
  // Where the memory was the host's, the removal gives it back.
  world.setMemory(host(12 * GIB));
  world.advance(10);
  world.finishRemoval();
  const grant = world.grantOf(id);
  if (grant === undefined) return 'waiting';
  assert.equal(grant.reason, 'compute_error');
  return grant.placement === 'cpu' ? 'cpu' : 'waiting';
}

const ROOM = cards({ [FIRST]: 2 * GIB, [SECOND]: 2 * GIB });

describe('an unknown server error', () => {
  const table: [string, Gpu, HostMemory, HostMemory, ReturnType<typeof ends>][] = [
    ['on a device that shares the full memory of the host', SHARED, host(9 * GIB), host(400 * MIB), 'cpu'],
    ['on one whose host has room', SHARED, host(400 * MIB), host(600 * MIB), 'passed on'],
    ['on one whose host has just the headroom', SHARED, host(9 * GIB), host(512 * MIB), 'passed on'],
    ['on a card that is full', CARD, ROOM, cards({ [FIRST]: 511 * MIB }), 'cpu'],
    ['on a card with just its headroom', CARD, ROOM, cards({ [FIRST]: 512 * MIB }), 'passed on'],
    ['beside a card that is full', CARD, ROOM, cards({ [FIRST]: GIB, [SECOND]: 0 }), 'passed on'],
    ['on two cards, one of them full', BOTH, ROOM, cards({ [FIRST]: GIB, [SECOND]: 0 }), 'cpu'],
    ['on two cards, one of which tells and is full', BOTH, ROOM, cards({ [SECOND]: 0 }), 'cpu'],
    ['on a card that tells no more', CARD, ROOM, host(100 * MIB), 'passed on'],
    ['on a card that never told', CARD, host(9 * GIB), cards({ [FIRST]: 0 }), 'passed on'],
    ['on a card that is not known', GPU, ROOM, cards({ [FIRST]: 0 }), 'passed on'],
  ];
  for (const [where, gpu, before, then, expected] of table) {
    test(`${where}: ${expected === 'cpu' ? 'taken for a lack of memory' : "the backend's answer"}`, () => {
      assert.equal(ends(runs(gpu, before), then), expected);
    });
  }

  test('waits for a reading only where one can tell, and once', () => {
    const readings = (gpu: Gpu) => {
      const run = runs(gpu, ROOM);
      ends(run, ROOM);
      return run.world.effects.filter(({ type }) => type === 'sample_for_verdict').length;
    };
    assert.equal(readings(CARD), 1);
    assert.equal(readings(GPU), 0);
  });

  test('that named its cause, or was the client’s fault, waits for none', () => {
    for (const message of ['Compute error.', 'image input is not supported']) {
      const { world, id } = runs(CARD, ROOM);
      world.end(id, { ...UNKNOWN, failure: { kind: 'http', status: 500, message } });
      assert.ok(
        world.effects.every(({ type }) => type !== 'sample_for_verdict'),
        message,
      );
    }
  });

  test("is the backend's answer where the reading failed and the one before is old", () => {
    for (const [age, expected] of [
      [60_000, 'pass_on'],
      [30_001, 'pass_on'],
      [30_000, 'close_connections'],
      [10_000, 'close_connections'],
    ] as const) {
      const { world, id } = runs(CARD, cards({ [FIRST]: 0 }));
      world.advance(age);
      world.submit({ type: 'attempt_ended', request: id, outcome: UNKNOWN, sampled: true });
      assert.ok(
        world.effects.some(({ type }) => type === expected),
        expected,
      );
    }
  });

  test('holds its slot until it is judged, and ends with its client while it waits', () => {
    const { world, id } = runs(CARD, ROOM);
    world.submit({ type: 'request_abandoned', request: id });
    world.submit({ type: 'attempt_ended', request: id, outcome: UNKNOWN, sampled: true });
    assert.equal(world.loop.state.requests.size, 0);
    assert.ok(world.effects.every(({ type }) => type !== 'pass_on'));
  });

  test("is the backend's answer on the CPU", () => {
    const world = makeWorld({ policy: policy([model('chat', { mode: 'cpu' })]) });
    const id = world.request();
    world.submit({ type: 'host_sampled', host: host(100 * MIB) });
    world.end(id, UNKNOWN);
    assert.equal(world.effects.at(-1)?.type, 'pass_on');
    assert.ok(world.effects.every(({ type }) => type !== 'sample_for_verdict'));
  });

  test('is judged by nothing before the host was first read', () => {
    const { world } = runs(SHARED, ROOM);
    const [instance] = world.loop.state.instances.values();
    assert.ok(instance !== undefined);
    const now = { mono: 0, wall: 0 };
    assert.equal(tellsMemory(emptyState(), instance), false);
    assert.equal(isDeviceLow(emptyState(), instance, now), false);
  });
});
