/** The rules by which a placement suits a request, each with its numbers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Request } from '../../app/core/request.ts';
import {
  isThere,
  placementsThatFit,
  suitedChoices,
  takesUsual,
  tooLongEverywhere,
  unsuited,
  usualPlacement,
  waitsForUntried,
} from '../../app/core/suited.ts';
import type { Mode, Model, Placement } from '../../app/core/types.ts';
import { MODELS, type Shared, steps } from '../support/core-steps.ts';
import { model, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const chat = (mode: Mode = 'auto', gpu = 2048, cpu = 8192): Model =>
  model('chat', {
    mode,
    profiles: {
      gpu: profile('chat', 'gpu', { context: gpu }),
      cpu: profile('chat', 'cpu', { context: cpu }),
    },
  });
const home = (of: Model, more: Partial<WorldOptions> = {}): World =>
  makeWorld({ policy: policy([of]), evidence: () => ({ ...DEAD, oomKilled: true }), ...more });

/** A request of this world, as it stands or with something else about it. */
function asked(world: World, more: Partial<Request> = {}): Request {
  const request = world.loop.state.requests.get(world.request());
  assert.ok(request);
  return { ...request, ...more };
}

/** Both requests ran on the GPU, which failed: the CPU has them. */
function cpuFull(world: World): World {
  for (const id of [world.request(), world.request()]) world.end(id, RESET);
  return world;
}

describe('the usual placement', () => {
  const usual = (world: World, of: Model) => usualPlacement(world.loop.state, of, world.now());

  test('is the best one, where its instance is there or comes', () => {
    const world = home(chat(), { holdStarts: true });
    assert.equal(usual(world, chat()), null);
    world.request();
    assert.equal(usual(world, chat()), 'gpu');
    world.finishStart();
    assert.equal(usual(world, chat()), 'gpu');
    const onCpu = home(chat('cpu'));
    onCpu.request();
    assert.equal(usual(onCpu, chat('cpu')), 'cpu');
  });

  test('is none while the CPU stands in, where the model is off, or where its container does not go', () => {
    assert.equal(usual(cpuFull(home(chat())), chat()), null);
    assert.equal(usual(home(chat('off')), chat('off')), null);
    const stuck = home(chat('gpu'), { holdRemovals: true });
    stuck.end(stuck.request());
    stuck.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    stuck.finishRemoval('stuck');
    assert.equal(usual(stuck, chat('gpu')), null);
  });

  test('is taken by a request without a history whose prompt fits, and on the CPU without a deadline of its own', () => {
    const plain = asked(home(chat()));
    const table: readonly [boolean, Placement, Partial<Request>][] = [
      [true, 'gpu', {}],
      [true, 'cpu', {}],
      [true, 'gpu', { promptBytes: 8_000 }],
      [false, 'gpu', { promptBytes: 9_000 }],
      [true, 'cpu', { promptBytes: 9_000 }],
      [true, 'gpu', { ownDeadline: true }],
      [false, 'cpu', { ownDeadline: true }],
      [false, 'gpu', { tokens: 100 }],
      [false, 'gpu', { tried: new Set(['cpu']) }],
      [false, 'gpu', { continues: { file: null } }],
    ];
    for (const [takes, placement, more] of table)
      assert.equal(takesUsual({ ...plain, ...more }, chat(), placement), takes, JSON.stringify(more));
    const without = { ...chat(), profiles: {} };
    assert.equal(takesUsual(plain, without, 'gpu'), false);
  });

  test('is what a search would find for it, in any state', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 25 }), (sequence) => {
        const world = makeWorld({ policy: policy(MODELS.map((name) => model(name))) });
        const shared: Shared = {
          startsFail: 'no',
          asked: [],
          commands: 0,
          left: new Set(),
          ended: new Map(),
        };
        for (const step of sequence) step(world, shared);
        const { state } = world.loop;
        for (const request of state.requests.values()) {
          const of = state.policy?.models.get(request.model);
          const placement = of === undefined ? null : usualPlacement(state, of, world.now());
          if (of === undefined || placement === null || !takesUsual(request, of, placement)) continue;
          assert.equal(suitedChoices(state, of, request, world.now())[0], placement);
        }
      }),
      { numRuns: 50 },
    );
  });
});

test('a prompt that was counted is told with the context that it does not fit', () => {
  const world = home(chat());
  const counted = asked(world, { tokens: 2048 });
  const why = (placement: Placement) => unsuited(world.loop.state, chat(), counted, placement, world.now());
  assert.deepEqual(why('gpu'), { why: 'context', tokens: 2048, context: 2048 });
  assert.equal(why('cpu'), null);
  assert.deepEqual(placementsThatFit(chat(), counted), ['cpu']);
  assert.deepEqual(placementsThatFit(chat(), { ...counted, tokens: null }), ['gpu', 'cpu']);
});

test('where no placement is allowed, none is too small', () => {
  assert.equal(tooLongEverywhere(chat('off'), 9_000), null);
  assert.equal(tooLongEverywhere(chat(), 9_000), 8192);
});

test('after a failure the other placement comes first, though the prompt is probably too long for it', () => {
  const world = home(chat('auto', 8192, 2048));
  const of = chat('auto', 8192, 2048);
  const long = asked(world, { promptBytes: 16_000 });
  const order = (request: Request) => suitedChoices(world.loop.state, of, request, world.now());
  assert.deepEqual(order(long), ['gpu', 'cpu']);
  assert.deepEqual(order({ ...long, tried: new Set(['gpu']) }), ['cpu', 'gpu']);
});

test('an instance is there in its own phase, on its own placement', () => {
  const world = home(chat(), { holdStarts: true });
  const first = world.request();
  world.finishStart();
  world.end(first, RESET);
  world.advance(30_000);
  world.submit({
    type: 'instance_ready',
    instance: [...world.loop.state.instances.values()].find(({ placement }) => placement === 'gpu')?.id ?? '',
    container: 'c',
    measured: { placement: 'gpu', ram: null, vram: null },
  });
  const there = (placements: readonly Placement[], phase: 'starting' | 'ready') =>
    isThere(world.loop.state, chat(), placements, phase);
  assert.deepEqual(
    [
      there(['gpu'], 'ready'),
      there(['cpu'], 'starting'),
      there(['gpu'], 'starting'),
      there(['cpu'], 'ready'),
    ],
    [true, true, false, false],
  );
  assert.equal(there([], 'ready'), false);
  const waits = (tried: readonly Placement[]) => {
    const order: readonly Placement[] = ['cpu', 'gpu'];
    return waitsForUntried(world.loop.state, chat(), asked(world, { tried: new Set(tried) }), 'gpu', order);
  };
  assert.deepEqual([waits([]), waits(['gpu']), waits(['gpu', 'cpu'])], [false, true, false]);
});

describe('the CPU is too slow', () => {
  /** 100 prompt tokens a second, 3 s a service. */
  function slow(world: World, leftMs: number, more: Partial<Request> = {}) {
    const { state } = world.loop;
    state.speeds.set('chat-cpu', { prompt: 100, generation: 5 });
    const own = state.models.get('chat');
    if (own !== undefined) own.serviceMs.cpu = 3_000;
    const deadlineAt = world.now().mono + leftMs;
    const request = asked(world, { tokens: 1_000, ownDeadline: true, deadlineAt, ...more });
    return unsuited(state, chat(), request, 'cpu', world.now());
  }

  test('by a millisecond: the wait for one of two slots, and the reading', () => {
    const world = cpuFull(home(chat()));
    assert.equal(slow(world, 11_500), null);
    assert.deepEqual(slow(world, 11_499), {
      why: 'slow',
      tokens: 1_000,
      speed: 100,
      untilSlotMs: 1_500,
      ms: 11_500,
      leftMs: 11_499,
    });
  });

  test('also where the GPU has a slot', () => {
    const world = cpuFull(home(chat()));
    world.advance(30_000);
    assert.equal(slow(world, 11_499)?.why, 'slow');
  });

  test('by what is left of its load', () => {
    const world = home(chat('cpu'), { holdStarts: true });
    world.request();
    world.advance(4_000);
    const found = slow(world, 9_999);
    assert.equal(found?.why === 'slow' ? found.untilSlotMs : null, 6_000);
  });

  test('never for a text that goes on, nor for what is no prompt', () => {
    const world = cpuFull(home(chat()));
    assert.equal(slow(world, 1_000, { continues: { file: null } }), null);
    assert.equal(slow(world, 1_000, { tokens: null, promptBytes: null }), null);
  });
});
