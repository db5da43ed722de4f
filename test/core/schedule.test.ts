/** What follows by itself: waits that end, loads that nobody asked for, the return of a placement. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InstancePhase } from '../../app/core/instance.ts';
import { settle } from '../../app/core/schedule.ts';
import type { Outage, State } from '../../app/core/state.ts';
import type { Model, Policy } from '../../app/core/types.ts';
import { GIB, GPU, host, model, need, policy, profile } from '../support/model.ts';
import { makeWorld, RESET, type World } from '../support/world.ts';

const configure = (world: World, next: Policy) =>
  world.submit({ type: 'configured', policy: next, why: 'reload' });
const began = (world: World) =>
  world.started.map(({ model: name, profile: { placement } }) => `${name} ${placement}`);

describe('a wait ends', () => {
  const waiting = () => {
    const world = makeWorld({ policy: policy([model('chat'), model('other')]), holdStarts: true });
    world.advance(500);
    return { world, id: world.request({ deadlineMs: 2_400 }) };
  };

  test('when its model is switched off', () => {
    const { world, id } = waiting();
    configure(world, policy([model('chat', { mode: 'off' })]));
    const refusal = { code: 'mode_off', message: 'chat was switched off (mode off).', retryAfter: null };
    assert.deepEqual(world.refusalOf(id), refusal);
  });

  test('when its model is no more', () => {
    const { world, id } = waiting();
    configure(world, policy([model('other')]));
    const message = 'chat was removed from the configuration.';
    assert.deepEqual(world.refusalOf(id), { code: 'unknown_model', message, retryAfter: null });
  });

  test('when its time is over, which it is told', () => {
    const { world, id } = waiting();
    world.advance(2_400);
    const message = 'chat could not take the request within 2 s.';
    assert.deepEqual(world.refusalOf(id), { code: 'deadline', message, retryAfter: null });
  });
});

describe('loads begin', () => {
  const LOCAL = { type: 'containers_observed', engine: 'local', containers: [] } as const;

  test('one for each model that is waited for, each an instance of its own', () => {
    const world = makeWorld({ policy: policy([model('a'), model('b')]) });
    world.submit({
      type: 'engine_unreachable',
      engine: 'local',
      problem: { code: 'docker_failed', text: '', fix: '' },
    });
    const ids = [world.request({ model: 'a' }), world.request({ model: 'b' })];
    world.submit({ type: 'engine_reachable', engine: 'local' });
    world.submit(LOCAL);
    assert.deepEqual(began(world), ['a gpu', 'b gpu']);
    for (const id of ids) assert.ok(world.grantOf(id));
  });

  test('of each model that is kept loaded, also where another one waits for its engine', () => {
    const away = { ...profile('a', 'gpu'), engine: 'tower' };
    const world = makeWorld({
      policy: policy([
        model('a', { keepLoaded: true, profiles: { gpu: away } }),
        model('b', { keepLoaded: true }),
        model('c', { keepLoaded: true }),
      ]),
    });
    assert.deepEqual(began(world), ['b gpu', 'c gpu']);
    assert.equal(world.loop.state.instances.size, 2);
  });

  /** `chat` serves on the CPU alone, and nobody waits. */
  function onCpu(more: Partial<Model>): State {
    const world = makeWorld({ policy: policy([model('chat', { mode: 'cpu' })]) });
    world.end(world.request());
    const state = structuredClone(world.loop.state);
    state.policy = policy([model('chat', more)]);
    return state;
  }
  const NOW = { mono: 1_000, wall: 0 };
  const starts = (state: State) =>
    settle(state, NOW).effects.flatMap((each) =>
      each.type === 'start_instance' ? [each.plan.profile.placement] : [],
    );

  test('not of a model that is kept loaded and is there, on whatever placement', () => {
    assert.deepEqual(settle(onCpu({ keepLoaded: true }), NOW), { changes: [], facts: [], effects: [] });
  });

  test('of one whose only instance does not go away', () => {
    const state = onCpu({ keepLoaded: true });
    const [cpu] = state.instances.values();
    assert.ok(cpu);
    cpu.phase = { state: 'stuck', since: 0, detail: '' };
    state.needs.set('chat-gpu', { kind: 'known', need: need(GIB, GIB) });
    assert.deepEqual(starts(state), ['gpu']);
  });

  test('not while the controller ends, nor once more where it failed for the wish', () => {
    const wished = (tried: readonly ('gpu' | 'cpu')[], ends: boolean): readonly string[] => {
      const state = onCpu({});
      state.instances.clear();
      for (const hash of ['chat-gpu', 'chat-cpu'])
        state.needs.set(hash, { kind: 'known', need: need(GIB, GIB) });
      const own = state.models.get('chat');
      assert.ok(own);
      own.wanted = { since: 0, tried: new Set(tried) };
      if (ends) state.shutdown = { deadline: 9_000, cut: false, told: true };
      return starts(state);
    };
    assert.deepEqual(wished([], false), ['gpu']);
    assert.deepEqual(wished(['gpu'], false), ['cpu']);
    assert.deepEqual(wished(['gpu', 'cpu'], false), []);
    assert.deepEqual(wished([], true), []);
  });
});

describe('a placement that may be probed', () => {
  const RETRY = 100_000;
  const NOW = { mono: RETRY, wall: 900_000 };
  const OUTAGE: Outage = {
    placement: 'gpu',
    reason: 'exit',
    detail: null,
    since: { mono: 0, wall: 0 },
    retryAt: RETRY,
    failures: 1,
  };
  const STARTING: InstancePhase = { state: 'starting', since: 0, adopted: false };

  interface Use {
    readonly more?: Partial<Model>;
    readonly cpu?: InstancePhase;
    readonly usedAt?: number | null;
    readonly change?: (state: State, id: number) => void;
    readonly waits?: boolean;
  }

  /** The GPU of `chat` is due; its CPU instance comes, and nobody has used it for long. */
  function isProbed({ more = {}, cpu = STARTING, usedAt = 0, change, waits = false }: Use): boolean {
    const world = makeWorld({ policy: policy([model('chat')]) });
    const id = world.request();
    world.end(id, RESET);
    if (!waits) world.end(id);
    const state = structuredClone(world.loop.state);
    state.policy = policy([model('chat', { idleUnloadMs: 10_000, ...more })]);
    const [instance] = state.instances.values();
    const own = state.models.get('chat');
    assert.ok(own && instance?.placement === 'cpu');
    instance.phase = cpu;
    instance.idleSince = RETRY;
    own.lastUsed = usedAt;
    own.outages.set('gpu', OUTAGE);
    state.host = { memory: host(12 * GIB), at: RETRY };
    change?.(state, id);
    const { effects } = settle(state, NOW);
    return effects.some((each) => each.type === 'start_instance' && each.plan.profile.placement === 'gpu');
  }

  const since = 0;
  const drill = { id: 'd', scenario: 'kill', since: 0, exclusive: false } as const;
  const READY: InstancePhase = { state: 'ready', since };
  const ROWS: readonly [string, boolean, Use][] = [
    ['is not, of a model that nobody uses', false, {}],
    ['is, of one that is kept loaded', true, { more: { keepLoaded: true } }],
    [
      'is, of one that is wished for',
      true,
      {
        change: (state) => {
          const own = state.models.get('chat');
          if (own) own.wanted = { since: 0, tried: new Set() };
        },
      },
    ],
    [
      'is, of one under a drill',
      true,
      {
        change: (state) => {
          state.drill = { ...drill, model: 'chat' };
        },
      },
    ],
    [
      'is not for a drill of another one',
      false,
      {
        change: (state) => {
          state.drill = { ...drill, model: 'other' };
        },
      },
    ],
    ['is, of one that is ready elsewhere', true, { cpu: READY }],
    [
      'is not, of one that goes elsewhere',
      false,
      { cpu: { state: 'draining', since, why: 'idle', reason: null } },
    ],
    ['is not, of one that was never used', false, { usedAt: null }],
    [
      'is not, of one that is never idle, but was never used',
      false,
      { usedAt: null, more: { idleUnloadMs: null } },
    ],
    ['is not, of one whose idle time is over just now', false, { usedAt: 890_000 }],
    ['is, of one whose idle time is not over', true, { usedAt: 890_001 }],
    ['is, of one that is never idle', true, { more: { idleUnloadMs: null } }],
    [
      'is not, of one that was unloaded by hand',
      false,
      {
        cpu: READY,
        change: (state) => {
          const own = state.models.get('chat');
          if (own) own.resting = true;
        },
      },
    ],
    [
      'is not while the controller ends',
      false,
      {
        cpu: READY,
        change: (state) => {
          state.shutdown = { deadline: RETRY + 1, cut: false, told: true };
        },
      },
    ],
    [
      'is, of one that is waited for, though not there',
      true,
      {
        waits: true,
        change: (state, id) => {
          const request = state.requests.get(id);
          assert.ok(request);
          for (const instance of state.instances.values()) instance.leases.clear();
          request.phase = { phase: 'waiting', since: 0, notBefore: 0, head: true };
          request.deadlineAt = RETRY + 60_000;
          state.waiting.push(id);
        },
      },
    ],
  ];
  for (const [name, probed, use] of ROWS) test(name, () => assert.equal(isProbed(use), probed));

  test('has its time and not before', () => {
    assert.equal(
      isProbed({
        cpu: READY,
        change: (state) => {
          state.models.get('chat')?.outages.set('gpu', { ...OUTAGE, retryAt: RETRY + 1 });
        },
      }),
      false,
    );
  });

  /** The GPUs of `a` and `b` die; their CPUs stand in. */
  function bothOut(more: Partial<Policy> = {}, gpus: readonly string[] = ['local', 'local']): World {
    const on = (name: string, at: number) =>
      model(name, {
        profiles: { gpu: profile(name, 'gpu', { engine: gpus[at] ?? '' }), cpu: profile(name, 'cpu') },
      });
    const world = makeWorld({ policy: policy([on('a', 0), on('b', 1)], more) });
    world.submit({ type: 'engine_reachable', engine: 'tower' });
    world.submit({ type: 'containers_observed', engine: 'tower', containers: [] });
    for (const name of ['a', 'b']) {
      const id = world.request({ model: name });
      world.end(id, RESET);
      world.end(id);
    }
    return world;
  }

  test('of two models each is an instance of its own', () => {
    const world = bothOut();
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['gpu', 'gpu']);
    assert.deepEqual(began(world).slice(-2), ['a gpu', 'b gpu']);
  });

  test('waits for its engine and holds up no other one', () => {
    const world = bothOut({}, ['tower', 'local']);
    world.submit({
      type: 'engine_unreachable',
      engine: 'tower',
      problem: { code: 'docker_failed', text: '', fix: '' },
    });
    world.advance(30_000);
    assert.deepEqual(began(world).slice(-1), ['b gpu']);
  });

  test('without room is tried again later, and takes none of another model', () => {
    const world = makeWorld({
      policy: policy([model('chat'), model('other')]),
      needOf: ({ gpu }) => need(GIB, gpu === null ? 0 : 6 * GIB),
    });
    const id = world.request();
    world.end(id, RESET);
    world.end(id);
    world.end(world.request({ model: 'other' }));
    assert.deepEqual(world.placements(), ['cpu', 'gpu']);
    const outage = () => world.loop.state.models.get('chat')?.outages.get('gpu');
    const { reason, detail } = outage() ?? {};
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['cpu', 'gpu'], 'an idle instance of another model stays');
    assert.equal(outage()?.failures, 2);
    assert.equal(outage()?.retryAt, world.now().mono + 60_000);
    assert.deepEqual([outage()?.reason, outage()?.detail], [reason, detail]);
  });

  test('has the room of what stood in for it, where both share the memory', () => {
    const gpu = profile('chat', 'gpu', { gpu: { ...GPU, memory: 'shared' } });
    const world = makeWorld({
      policy: policy([model('chat', { profiles: { gpu, cpu: profile('chat', 'cpu') } })]),
      needOf: (own) => (own.gpu === null ? need(8 * GIB) : need(GIB, 7 * GIB)),
    });
    const id = world.request();
    world.end(id, RESET);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    world.end(id);
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['gpu']);
  });
});
