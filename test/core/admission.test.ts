/** The arithmetic of memory: what models may take, what is spoken for, and who gives way. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  budgetOf,
  fit,
  hostBytes,
  memoryIsComingBack,
  memoryLimitOf,
  reserveOf,
  victims,
} from '../../app/core/admission.ts';
import type { Gpu, Need, Policy, Profile } from '../../app/core/types.ts';
import { GIB, GPU, host, MIB, model, need, policy, profile } from '../support/model.ts';
import { makeWorld, type World, type WorldOptions } from '../support/world.ts';

const cpuModel = (name: string, more: Parameters<typeof model>[1] = {}) =>
  model(name, { placements: ['cpu'], profiles: { cpu: profile(name, 'cpu') }, ...more });
const limits = (memory: Partial<Policy['memory']>) =>
  policy([], { memory: { reserve: 'auto', budget: 'auto', ...memory } });
const cpu = profile('new', 'cpu');

/** Two models on the CPU; each takes 4 GiB, of which 1 GiB is mapped from its file. */
const NEED: Need = { ...need(4 * GIB), mapped: GIB };
function pair(more: Partial<WorldOptions> = {}): World {
  return makeWorld({
    policy: policy([cpuModel('a'), cpuModel('b')], { memory: { reserve: 2 * GIB, budget: 12 * GIB } }),
    memory: host(20 * GIB, 32 * GIB),
    needOf: () => NEED,
    ...more,
  });
}

/** Loads both, `a` used last. */
function loaded(more: Partial<WorldOptions> = {}): World {
  const world = pair(more);
  for (const name of ['b', 'a']) {
    world.end(world.request({ model: name }));
    world.advance(1_000);
  }
  return world;
}

const names = (world: World, bytes: number, onlyOf: string | null = null) =>
  victims(world.loop.state, cpu, need(bytes), onlyOf)?.map((one) => one.model) ?? null;

describe('what models may take', () => {
  test('the reserve is what is configured, else the larger of 2 GiB and a tenth', () => {
    assert.equal(reserveOf(limits({}), host(GIB, 8 * GIB)), 2 * GIB);
    assert.equal(reserveOf(limits({}), host(GIB, 64 * GIB)), Math.ceil(6.4 * GIB));
    assert.equal(reserveOf(limits({ reserve: GIB }), host(GIB, 64 * GIB)), GIB);
  });

  test('the budget is what is configured, else all but the reserve', () => {
    assert.equal(budgetOf(limits({}), host(GIB, 16 * GIB)), 14 * GIB);
    assert.equal(budgetOf(limits({ budget: 3 * GIB }), host(GIB, 16 * GIB)), 3 * GIB);
  });

  test("a GPU that shares the host's memory takes all of it from there", () => {
    const split: Need = { ...need(GIB), vram: { Vulkan0: 2 * GIB, Vulkan1: 3 * GIB } };
    const on = (memory: 'shared' | 'dedicated'): Profile => profile('m', 'gpu', { gpu: { ...GPU, memory } });
    assert.equal(hostBytes(on('shared'), split), 6 * GIB);
    assert.equal(hostBytes(on('dedicated'), split), GIB);
    assert.equal(hostBytes(cpu, split), GIB);
  });

  test('the limit of a container leaves a tenth, at least 512 MiB, and more once it was too short', () => {
    assert.equal(memoryLimitOf(GIB, false), GIB + 512 * MIB);
    assert.equal(memoryLimitOf(20 * GIB, false), 22 * GIB);
    assert.equal(memoryLimitOf(GIB, true), 1.25 * GIB + 512 * MIB + 512 * MIB);
    assert.equal(memoryLimitOf(16 * GIB, true), Math.ceil(20.5 * GIB * 1.1));
    assert.equal(memoryLimitOf(10.5, false), 11 + 512 * MIB);
  });
});

describe('a load fits', () => {
  test('not before the host was read', () => {
    const { state } = pair().loop;
    assert.equal(fit({ ...state, host: null }, cpu, NEED), null);
    assert.equal(fit({ ...state, policy: null }, cpu, NEED), null);
  });

  test('into the budget that other models leave, to the byte', () => {
    const { state } = loaded().loop;
    assert.deepEqual(fit(state, cpu, need(4 * GIB)), {
      fits: true,
      by: 'budget',
      need: 4 * GIB,
      room: 4 * GIB,
    });
    assert.equal(fit(state, cpu, need(4 * GIB + 1))?.fits, false);
  });

  test('with less room than nothing as with none', () => {
    const world = loaded({ memory: host(20 * GIB, 32 * GIB) });
    world.submit({
      type: 'configured',
      policy: policy([cpuModel('a'), cpuModel('b')], { memory: { reserve: GIB, budget: GIB } }),
      why: 'reload',
    });
    assert.equal(fit(world.loop.state, cpu, need(GIB))?.room, 0);
  });

  test('into what is available less the reserve and the files that running models have mapped', () => {
    const world = loaded({ memory: host(20 * GIB, 32 * GIB) });
    world.submit({ type: 'host_sampled', host: host(7 * GIB, 32 * GIB) });
    // 7 available - 2 reserved - 2 that two models have mapped.
    assert.deepEqual(fit(world.loop.state, cpu, need(5 * GIB)), {
      fits: false,
      by: 'available',
      need: 5 * GIB,
      room: 3 * GIB,
    });
  });

  test('beside one that is still starting, all of which is spoken for', () => {
    const world = pair({ holdStarts: true, memory: host(10 * GIB, 32 * GIB) });
    world.request({ model: 'a' });
    assert.equal(fit(world.loop.state, cpu, need(5 * GIB))?.room, 4 * GIB);
    world.finishStart();
    // Its own memory is in the reading by now; its mapped file is not.
    assert.equal(fit(world.loop.state, cpu, need(8 * GIB))?.room, 7 * GIB);
  });

  test('into what the removal of others gives back', () => {
    const world = loaded({ memory: host(20 * GIB, 32 * GIB) });
    world.submit({ type: 'host_sampled', host: host(8 * GIB, 32 * GIB) });
    const [first] = world.loop.state.instances.keys();
    // 8 available - 2 reserved - 1 mapped + 3 of it that are not mapped: its file counts as available already.
    assert.equal(fit(world.loop.state, cpu, need(9 * GIB), new Set([first ?? '']))?.room, 8 * GIB);
  });

  test('on a card with what its own instances leave, less the headroom', () => {
    const both = policy([model('a'), model('b')], { memory: { reserve: 0, budget: 100 * GIB } });
    const world = makeWorld({
      policy: both,
      memory: host(90 * GIB, 100 * GIB),
      needOf: () => need(GIB, 3 * GIB),
    });
    world.end(world.request({ model: 'a' }));
    const card = profile('new', 'gpu');
    assert.deepEqual(fit(world.loop.state, card, need(GIB, 5 * GIB)), {
      fits: false,
      by: 'vram',
      need: 5 * GIB,
      room: 4.5 * GIB,
    });
    const [first] = world.loop.state.instances.keys();
    assert.equal(fit(world.loop.state, card, need(GIB, 5 * GIB), new Set([first ?? '']))?.fits, true);
    const other = profile('new', 'gpu', { gpu: { ...GPU, name: 'second card' } });
    assert.equal(fit(world.loop.state, other, need(GIB, 5 * GIB))?.fits, true);
    const unknown = profile('new', 'gpu', { gpu: { ...GPU, total: null } });
    assert.equal(fit(world.loop.state, unknown, need(GIB, 50 * GIB))?.fits, true);
  });

  const PCI = '0000:01:00.0';
  const CARD = { ...GPU, cards: { Vulkan0: PCI } };
  /** A model of 3 GiB on a card of 8 GiB, then a reading of `used`. */
  function onCard(used: number | null, more: Partial<WorldOptions> = {}): World {
    const profiles = { gpu: profile('a', 'gpu', { gpu: CARD }) };
    const world = makeWorld({
      policy: policy([model('a', { placements: ['gpu'], profiles })], { gpus: [CARD] }),
      needOf: () => need(GIB, 3 * GIB),
      ...more,
    });
    world.request({ model: 'a' });
    const cards = used === null ? {} : { [PCI]: { total: 8 * GIB, used } };
    world.submit({ type: 'host_sampled', host: { ...host(90 * GIB, 100 * GIB), cards } });
    return world;
  }
  const room = (world: World, gpu: Gpu = CARD, without: readonly string[] = []) => {
    const verdict = fit(
      world.loop.state,
      profile('new', 'gpu', { gpu }),
      need(0, 50 * GIB),
      new Set(without),
    );
    return verdict?.by === 'vram' ? verdict.room : null;
  };

  test('on a card with what its driver calls free, where others take more than was planned', () => {
    assert.equal(room(onCard(null)), 4.5 * GIB);
    assert.equal(room(onCard(3 * GIB)), 4.5 * GIB);
    assert.equal(room(onCard(6 * GIB)), 1.5 * GIB);
    assert.equal(room(onCard(8 * GIB)), 0);
    assert.equal(room(onCard(GIB)), 4.5 * GIB, 'what is planned is spoken for, used or not');
  });

  test('on a card whose size its driver alone tells', () => {
    assert.equal(room(onCard(3 * GIB), { ...CARD, total: null }), 4.5 * GIB);
    assert.equal(room(onCard(null), { ...CARD, total: null }), null);
  });

  test('on a card beside one that is starting, which has not taken all of its own yet', () => {
    assert.equal(room(onCard(2 * GIB, { holdStarts: true })), 2.5 * GIB);
  });

  test('on a card with what a removal gives back there', () => {
    const world = onCard(6 * GIB);
    assert.equal(room(world, CARD, [...world.loop.state.instances.keys()]), 4.5 * GIB);
    const other = { ...CARD, name: 'second card' };
    assert.equal(room(world, other, [...world.loop.state.instances.keys()]), 1.5 * GIB);
  });
});

describe('idle instances give way', () => {
  test('the least recently used first, and no more than are needed', () => {
    const world = loaded();
    assert.deepEqual(names(world, 6 * GIB), ['b']);
    assert.deepEqual(names(world, 12 * GIB), ['b', 'a']);
  });

  test('only those of the one model that may', () => {
    const world = loaded();
    assert.deepEqual(names(world, 6 * GIB, 'a'), ['a']);
    assert.equal(names(world, 6 * GIB, 'other'), null);
  });

  test('none, unless the load then fits', () => {
    assert.equal(names(loaded(), 13 * GIB), null);
  });

  test('not while they answer, are awaited, or are to be kept loaded', () => {
    const busy = loaded();
    busy.request({ model: 'b' });
    assert.deepEqual(names(busy, 6 * GIB), ['a']);
    const kept = loaded({
      policy: policy([cpuModel('a'), cpuModel('b', { keepLoaded: true })], {
        memory: { reserve: 2 * GIB, budget: 12 * GIB },
      }),
    });
    assert.deepEqual(names(kept, 6 * GIB), ['a']);
  });

  test('not twice: the memory of one that goes comes back by itself', () => {
    const world = loaded({ holdRemovals: true });
    assert.equal(memoryIsComingBack(world.loop.state), false);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'b' } });
    assert.equal(memoryIsComingBack(world.loop.state), true);
    assert.deepEqual(names(world, 6 * GIB), ['a'], 'one that goes is not named again');
    assert.equal(names(world, 12 * GIB), null, 'until then it takes its memory');
    world.finishRemoval();
    assert.equal(memoryIsComingBack(world.loop.state), false);
    assert.equal(fit(world.loop.state, cpu, need(6 * GIB))?.fits, true);
  });
});
