/** What an engine shows: whether it is there, which of our containers it holds, whether it answers starts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../app/core/decide.ts';
import type { ObservedContainer } from '../../app/core/inputs.ts';
import type { InstancePhase } from '../../app/core/instance.ts';
import type { Engine, State } from '../../app/core/state.ts';
import type { Problem } from '../../app/core/types.ts';
import { GIB, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, type World } from '../support/world.ts';

const NOW = { mono: 70_000, wall: 90_000 };
const PROBLEM: Problem = { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' };
const NOT_ASKED = { ...DEAD, exitCode: null, error: 'connect ENOENT', engineAway: true } as const;

const home = () => makeWorld({ policy: policy([model('chat'), model('other')]) });

describe('an engine', () => {
  const lost = (lostAt: number | null): Engine => ({ observed: false, problem: PROBLEM, lostAt });
  const THERE: Engine = { observed: true, problem: null, lostAt: null };
  const ROWS: readonly [string, Engine | undefined, 'engine_reachable' | 'engine_unreachable', Engine][] = [
    [
      'that is seen for the first time has to be observed',
      undefined,
      'engine_reachable',
      { ...THERE, observed: false },
    ],
    ['that is seen again was observed', THERE, 'engine_reachable', THERE],
    ['that is back has to be observed', lost(5), 'engine_reachable', { ...THERE, observed: false }],
    ['that goes is away from now on', THERE, 'engine_unreachable', lost(70_000)],
    ['that is away is away since it went', lost(5), 'engine_unreachable', lost(5)],
    ['that was never there is not awaited', undefined, 'engine_unreachable', lost(null)],
    [
      'that was never there is still not awaited when asked again',
      lost(null),
      'engine_unreachable',
      lost(null),
    ],
  ];
  for (const [name, before, type, after] of ROWS) {
    test(name, () => {
      const state = structuredClone(home().loop.state);
      state.engines.delete('local');
      if (before !== undefined) state.engines.set('local', before);
      const report = type === 'engine_reachable' ? { type } : { type, problem: PROBLEM };
      const { changes } = decide(state, { ...report, engine: 'local' } as Parameters<typeof decide>[1], NOW);
      assert.deepEqual(
        changes.filter((change) => change.type === 'engine_set'),
        [{ type: 'engine_set', engine: 'local', ...after }],
      );
    });
  }
});

/** `chat` is started on the GPU 10 s after the beginning of time; it waits for the engine's answer. */
function starting(): State {
  const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
  world.advance(9_000);
  world.request();
  return structuredClone(world.loop.state);
}

describe('a start that the engine leaves without an answer', () => {
  const told = (state: State, mono: number) =>
    decide(state, { type: 'instance_start_failed', instance: 'i1', evidence: NOT_ASKED }, { ...NOW, mono });

  test('leaves nothing to be begun there, from the first sign of it on', () => {
    for (const [known, after] of [
      [undefined, { problem: null, lostAt: 20_000 }],
      [
        { observed: true, problem: null, lostAt: null },
        { problem: null, lostAt: 20_000 },
      ],
      [
        { observed: false, problem: PROBLEM, lostAt: 15_000 },
        { problem: PROBLEM, lostAt: 15_000 },
      ],
    ] as const) {
      const state = starting();
      state.engines.delete('local');
      if (known !== undefined) state.engines.set('local', known);
      assert.deepEqual(
        told(state, 20_000).changes.find((change) => change.type === 'engine_set'),
        { type: 'engine_set', engine: 'local', observed: false, ...after },
      );
    }
  });

  test("is its placement's failure when none was answered for a minute", () => {
    for (const [first, mono, failed] of [
      [null, 69_999, false],
      [null, 70_000, true],
      [5_000, 64_999, false],
      [5_000, 65_000, true],
    ] as const) {
      const state = starting();
      if (first !== null) state.models.get('chat')?.unanswered.set('gpu', first);
      const { changes } = told(state, mono);
      const unanswered = changes.find((change) => change.type === 'start_unanswered');
      assert.equal(
        unanswered?.type === 'start_unanswered' && unanswered.since,
        failed ? null : (first ?? 10_000),
      );
      assert.equal(
        changes.some((change) => change.type === 'outage_set'),
        failed,
      );
    }
  });

  test('is forgotten with the next answer, be it a good one or a bad one', () => {
    const measured = { placement: 'gpu', ram: null, vram: null } as const;
    for (const answer of [
      { type: 'instance_ready', instance: 'i1', container: 'c', measured },
      { type: 'instance_start_failed', instance: 'i1', evidence: DEAD },
    ] as const) {
      const state = starting();
      const forgotten = () =>
        decide(state, answer, NOW).changes.filter((change) => change.type === 'start_unanswered');
      assert.deepEqual(forgotten(), []);
      state.models.get('chat')?.unanswered.set('gpu', 5_000);
      assert.deepEqual(forgotten(), [
        { type: 'start_unanswered', model: 'chat', placement: 'gpu', since: null },
      ]);
    }
  });
});

describe('an observation', () => {
  const container = (more: Partial<ObservedContainer> = {}): ObservedContainer => ({
    container: 'c9',
    engine: 'local',
    model: 'chat',
    placement: 'gpu',
    hash: 'chat-gpu',
    running: true,
    instance: null,
    ...more,
  });
  const observed = (state: State, ...containers: readonly ObservedContainer[]) =>
    decide(state, { type: 'containers_observed', engine: 'local', containers }, NOW);
  /** `chat` is ready on the GPU, as the instance `i1`. */
  function ready(phase?: InstancePhase): State {
    const world: World = home();
    world.end(world.request());
    const state = structuredClone(world.loop.state);
    const instance = state.instances.get('i1');
    assert.ok(instance);
    if (phase !== undefined) instance.phase = phase;
    return state;
  }

  test('has one examined that should run and does not, and leaves alone one that starts or goes', () => {
    const since = 0;
    const PHASES: readonly [InstancePhase, boolean][] = [
      [{ state: 'ready', since }, true],
      [{ state: 'draining', since, why: 'command', reason: null }, true],
      [{ state: 'starting', since, adopted: false }, false],
      [{ state: 'stopping', since, why: 'command' }, false],
      [{ state: 'failed', since, reason: 'exit', examined: true }, false],
    ];
    for (const [phase, examined] of PHASES) {
      const effects = examined ? [{ type: 'examine_instance', instance: 'i1' }] : [];
      assert.deepEqual(observed(ready(phase)).effects, effects, `${phase.state}, not there`);
      const stopped = container({ instance: 'i1', running: false });
      assert.deepEqual(observed(ready(phase), stopped).effects, effects, `${phase.state}, ended`);
      assert.deepEqual(observed(ready(phase), container({ instance: 'i1' })).effects, [], phase.state);
    }
  });

  test('of one engine says nothing of what another one holds', () => {
    const input = { type: 'containers_observed', engine: 'tower', containers: [] } as const;
    assert.deepEqual(decide(ready(), input, NOW).effects, []);
  });

  test('that still lists one that did not go has it killed, without another look at it', () => {
    const state = ready({ state: 'stuck', since: 0, detail: '' });
    const { effects, changes } = observed(state, container({ instance: 'i1', running: false }));
    const remove = { instance: 'i1', how: 'kill', examine: false, device: GIB };
    assert.deepEqual(effects, [{ type: 'remove_instance', ...remove }]);
    assert.equal(
      changes.some(({ type }) => type === 'instance_gone'),
      false,
    );
  });

  test('adopts one of each placement, each by a name of its own, and removes its doubles', () => {
    const world = home();
    const { changes, effects } = observed(
      world.loop.state,
      container(),
      container({ container: 'double' }),
      container({ container: 'cpu', placement: 'cpu', hash: 'chat-cpu' }),
      container({ container: 'other', model: 'other', hash: 'other-gpu' }),
      container({ container: 'ended', model: 'other', placement: 'cpu', hash: 'other-cpu', running: false }),
      container({ container: 'unknown', model: 'nobody' }),
    );
    const added = changes.flatMap((change) => (change.type === 'instance_added' ? [change.instance] : []));
    assert.deepEqual(
      added.map(({ id, model: name, placement }) => [id, name, placement]),
      [
        ['i1', 'chat', 'gpu'],
        ['i2', 'chat', 'cpu'],
        ['i3', 'other', 'gpu'],
      ],
    );
    assert.deepEqual(
      effects.map((effect) => [effect.type, 'container' in effect && effect.container]),
      [
        ['adopt_instance', 'c9'],
        ['remove_container', 'double'],
        ['adopt_instance', 'cpu'],
        ['adopt_instance', 'other'],
        ['remove_container', 'ended'],
        ['remove_container', 'unknown'],
      ],
    );
  });

  test('removes what stands where we have an instance, and nothing beside it', () => {
    const adopted = (more: Partial<ObservedContainer>) =>
      observed(ready(), container({ instance: 'i1' }), container({ container: 'c10', ...more })).effects.map(
        ({ type }) => type,
      );
    assert.deepEqual(adopted({}), ['remove_container']);
    assert.deepEqual(adopted({ placement: 'cpu', hash: 'chat-cpu' }), ['adopt_instance']);
    assert.deepEqual(adopted({ model: 'other', hash: 'other-gpu' }), ['adopt_instance']);
  });

  test('counts what one needs that it adopts, where that was estimated, else nothing', () => {
    const state = structuredClone(makeWorld({ policy: policy([]) }).loop.state);
    const chat = model('chat', { profiles: { gpu: profile('chat', 'gpu') } });
    state.policy = policy([chat]);
    const taken = () => {
      const [added] = observed(state, container()).changes.filter(({ type }) => type === 'instance_added');
      return added?.type === 'instance_added' ? added.instance.need : undefined;
    };
    const nothing = { ram: 0, mapped: 0, vram: {}, parts: [] };
    assert.deepEqual(taken(), nothing);
    state.needs.set('chat-gpu', { kind: 'pending', problem: null });
    assert.deepEqual(taken(), nothing);
    state.needs.set('chat-gpu', { kind: 'known', need: need(GIB, GIB) });
    assert.deepEqual(taken(), need(GIB, GIB));
  });
});
