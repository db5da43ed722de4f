/** What is told of one instance: ready, not started, gone; what is said of it, and to whom. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../app/core/decide.ts';
import type { Measured } from '../../app/core/inputs.ts';
import type { InstancePhase } from '../../app/core/instance.ts';
import type { State } from '../../app/core/state.ts';
import type { ExitEvidence } from '../../app/core/types.ts';
import { GIB, GPU, model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const NOW = { mono: 10_000, wall: 90_000 };
const ABOUT = { model: 'chat', placement: 'gpu', engine: 'local' } as const;
const BROKEN: ExitEvidence = { ...DEAD, log: ['error loading model: no such tensor'] };

const home = (more: Partial<WorldOptions> = {}) =>
  makeWorld({ policy: policy([model('chat'), model('other')]), ...more });

/** `chat` starts on the GPU, for a request, since the first second. */
function starting(phase?: InstancePhase): State {
  const world = home({ holdStarts: true });
  world.request();
  const state = structuredClone(world.loop.state);
  const instance = state.instances.get('i1');
  assert.ok(instance);
  if (phase !== undefined) instance.phase = phase;
  return state;
}

const ready = (state: State, measured: Measured = { placement: 'gpu', ram: null, vram: null }) =>
  decide(state, { type: 'instance_ready', instance: 'i1', container: 'c', measured }, NOW);
const failed = (state: State, evidence: ExitEvidence = BROKEN) =>
  decide(state, { type: 'instance_start_failed', instance: 'i1', evidence }, NOW);

describe('a load', () => {
  test('is told with its time and what the instance takes, as measured where it was', () => {
    const fact = { type: 'model_loaded', ...ABOUT, seconds: 9 } as const;
    const measured = { placement: 'gpu', ram: 5, vram: 7 } as const;
    assert.deepEqual(ready(starting(), measured).facts, [{ ...fact, bytes: 5, vram: 7 }]);
    assert.deepEqual(ready(starting()).facts, [{ ...fact, bytes: GIB }]);
  });

  test('that failed is told with its cause, and the leftover is killed', () => {
    const { facts, effects } = failed(starting());
    const detail = 'error loading model: no such tensor';
    assert.deepEqual(facts, [{ type: 'load_failed', ...ABOUT, reason: 'load_failed', detail }]);
    const remove = { instance: 'i1', how: 'kill', examine: false, device: GIB };
    assert.deepEqual(effects, [{ type: 'remove_instance', ...remove }]);
    assert.deepEqual(failed(starting(), DEAD).facts, [
      { type: 'load_failed', ...ABOUT, reason: 'start_failed' },
    ]);
  });

  test('is the last error of its model, in words where there are any', () => {
    for (const [evidence, error] of [
      [BROKEN, 'load_failed: error loading model: no such tensor'],
      [DEAD, 'start_failed'],
    ] as const) {
      const change = failed(starting(), evidence).changes.find(({ type }) => type === 'model_error');
      assert.deepEqual(change, { type: 'model_error', model: 'chat', error });
    }
  });

  test('of what a former run left says nothing of its placement where it fails', () => {
    const { facts, changes } = failed(starting({ state: 'starting', since: 0, adopted: true }));
    assert.deepEqual(facts, []);
    assert.deepEqual(
      changes.map(({ type }) => type),
      ['instance_moved'],
    );
  });

  test('means nothing any more when the instance is to go', () => {
    const going = () => starting({ state: 'stopping', since: 0, why: 'command' });
    for (const { changes, facts, effects } of [ready(going()), failed(going())])
      assert.deepEqual([changes, facts, effects], [[], [], []]);
  });

  test('that failed for a command is not tried there again for it', () => {
    const state = starting();
    const own = state.models.get('chat');
    assert.ok(own);
    const wished = () =>
      failed(state).changes.flatMap((change) => (change.type === 'wanted_set' ? [change.wanted] : []));
    assert.deepEqual(wished(), []);
    own.wanted = { since: 5, tried: new Set(['split']) };
    assert.deepEqual(wished(), [{ since: 5, tried: new Set(['split', 'gpu']) }]);
  });

  test('that failed moves those who wait for its model, and nobody else', () => {
    const world = home({ holdStarts: true });
    const ids = [world.request(), world.request({ model: 'other' })];
    const moved = failed(structuredClone(world.loop.state)).changes.flatMap((change) =>
      change.type === 'request_moved' ? [change.request] : [],
    );
    assert.deepEqual(moved, ids.slice(0, 1));
  });
});

describe('a failed instance that is gone before its end was examined', () => {
  test('had a failover all the same', () => {
    const world = home({ holdRemovals: true });
    const id = world.request();
    world.end(id, RESET);
    const failovers = () => world.facts.filter(({ type }) => type === 'failover');
    assert.deepEqual(failovers(), []);
    world.submit({ type: 'instance_removed', instance: 'i1', memoryBack: true });
    assert.deepEqual(failovers(), [
      {
        type: 'failover',
        ...ABOUT,
        to: 'cpu',
        reason: 'reset',
        requestId: `x${id}`,
        requestIds: [`x${id}`],
        count: 1,
      },
    ]);
  });

  test('one that stopped had none', () => {
    const state = starting({ state: 'stopping', since: 0, why: 'command' });
    state.instances.get('i1')?.moved.push('x1');
    const { facts } = decide(state, { type: 'instance_removed', instance: 'i1', memoryBack: true }, NOW);
    assert.deepEqual(
      facts.map(({ type }) => type),
      ['model_unloaded'],
    );
  });
});

describe('memory that a card still holds', () => {
  const HELD = {
    code: 'gpu_memory_held',
    model: 'chat',
    text: 'chat was removed from the GPU card, but its memory was not seen back after 5 s.',
    fix: 'Another program may have taken it. If loads fail for lack of GPU memory, end that program, or restart the host to reset the driver.',
    params: { gpu: 'card' },
  } as const;
  const problems = (world: World) => [...world.loop.state.problems.values()];
  /** `chat` is unloaded from the GPU, whose memory does not come back. */
  function held(): World {
    const world = home({ holdRemovals: true, startFails: () => (world.started.length > 1 ? BROKEN : null) });
    world.end(world.request());
    world.advance(9_000);
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    world.advance(2_500);
    world.finishRemoval('memory_held');
    return world;
  }

  test('is told with the end of the unload, its time and its bytes', () => {
    const world = held();
    assert.deepEqual(problems(world), [HELD]);
    const unload = { why: 'command', seconds: 2.5, bytes: GIB, detail: HELD.text } as const;
    assert.deepEqual(world.facts.at(-1), { type: 'model_unloaded', ...ABOUT, ...unload });
  });

  test('is a problem until an instance that held some goes and leaves none, ready or not', () => {
    const world = held();
    world.request();
    assert.deepEqual(problems(world), [HELD], 'another start failed, and is not gone yet');
    world.finishRemoval();
    assert.deepEqual(problems(world), []);
  });

  test('is no less so for what the CPU does', () => {
    const state = structuredClone(held().loop.state);
    const instance = starting().instances.get('i1');
    assert.ok(instance);
    const cpu = { ...instance, placement: 'cpu', profile: profile('chat', 'cpu') } as const;
    const cleared = (phase: InstancePhase, input: Parameters<typeof decide>[1]) => {
      state.instances.set('i1', { ...cpu, phase });
      return decide(state, input, NOW).changes.filter(({ type }) => type === 'problem_cleared');
    };
    const measured = { placement: 'cpu', ram: null, vram: null } as const;
    assert.deepEqual(
      cleared(
        { state: 'starting', since: 0, adopted: false },
        { type: 'instance_ready', instance: 'i1', container: 'c', measured },
      ),
      [],
    );
    assert.deepEqual(
      cleared(
        { state: 'stopping', since: 0, why: 'idle' },
        { type: 'instance_removed', instance: 'i1', memoryBack: true },
      ),
      [],
    );
  });
});

test('a removal waits for the memory of a card that has its own, and of nothing else', () => {
  const device = (gpu: typeof GPU | null) => {
    const own = profile('chat', 'gpu', { gpu });
    const world = makeWorld({
      policy: policy([model('chat', { placements: ['gpu'], profiles: { gpu: own } })]),
    });
    world.end(world.request());
    world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } });
    const removal = world.effects.find(({ type }) => type === 'remove_instance');
    return removal?.type === 'remove_instance' && removal.device;
  };
  assert.equal(device(GPU), GIB);
  assert.equal(device({ ...GPU, memory: 'shared' }), 0);
  assert.equal(device(null), 0);
});
