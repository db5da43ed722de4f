/** Folds: each moment that a change brings wakes the loop, and what one leaves behind in the state. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MOST_REFUSED } from '../../app/core/blame.ts';
import type { Change } from '../../app/core/changes.ts';
import { decide } from '../../app/core/decide.ts';
import { evolve, evolveFact } from '../../app/core/evolve.ts';
import {
  canMove,
  checkMove,
  type Instance,
  type InstancePhase,
  type InstanceState,
  isLeaving,
} from '../../app/core/instance.ts';
import { problemId, problemKey } from '../../app/core/problem.ts';
import { refusal } from '../../app/core/refuse.ts';
import { emptyState, isExpected, isStandingBy, type State } from '../../app/core/state.ts';
import { GIB, model, need, policy, profile } from '../support/model.ts';
import { makeWorld } from '../support/world.ts';

const NEVER = Number.POSITIVE_INFINITY;
const PROBLEM = { code: 'docker_failed', text: '', fix: '' } as const;

/** `chat` is ready on the GPU; its request 1 runs. Nothing is due. */
function running(idleUnloadMs: number | null = 600_000): State {
  const world = makeWorld({ policy: policy([model('chat', { idleUnloadMs }), model('other')]) });
  world.request();
  const state = structuredClone(world.loop.state);
  state.nextDue = NEVER;
  return state;
}

function folded(state: State, ...changes: readonly Change[]): State {
  for (const change of changes) evolve(state, change);
  return state;
}

describe('the loop wakes', () => {
  const WAITS = { type: 'request_waits', request: 1, head: true, since: 0 } as const;
  const OUTAGE = {
    placement: 'gpu',
    reason: 'exit',
    detail: null,
    since: { mono: 0, wall: 0 },
    failures: 1,
  } as const;
  const lost = (lostAt: number | null): Change => ({
    type: 'engine_set',
    engine: 'local',
    observed: false,
    problem: null,
    lostAt,
  });
  const moved = (state: 'ready' | 'draining'): Change => ({
    type: 'instance_moved',
    instance: 'i1',
    phase: state === 'ready' ? { state, since: 50 } : { state, since: 50, why: 'idle', reason: null },
  });
  const ROWS: readonly [string, Change, number][] = [
    ['at the deadline of a wait', { ...WAITS, notBefore: 0, deadlineAt: 70 }, 70],
    ['when a wait may end', { ...WAITS, notBefore: 60, deadlineAt: 70 }, 60],
    [
      'when a judged request is to end',
      { type: 'request_judged', request: 1, until: 80, otherwise: refusal('poison', '') },
      80,
    ],
    ['when a body is no longer refused', { type: 'body_refused', body: 'b', model: 'chat', until: 90 }, 90],
    [
      'when a problem of a prompt is old',
      { type: 'overflow_set', model: 'chat', overflow: { tokens: 1, until: 40 } },
      40,
    ],
    ['not for one that is solved', { type: 'overflow_set', model: 'chat', overflow: null }, NEVER],
    ['when an outage may end', { type: 'outage_set', model: 'chat', outage: { ...OUTAGE, retryAt: 30 } }, 30],
    [
      'when a standby is looked at again',
      { type: 'standby_set', model: 'chat', standby: { retryAt: 20 } },
      20,
    ],
    ['when a need is read again', { type: 'need_unknown', hash: 'h', problem: PROBLEM, retryAt: 25 }, 25],
    ['when an engine is given up', lost(10), 60_010],
    ['not for one that never was there', lost(null), NEVER],
    [
      'when the grace is over',
      { type: 'shutdown_set', shutdown: { deadline: 35, cut: false, told: false } },
      35,
    ],
    [
      'when the last lease has been over for so long',
      { type: 'lease_ended', request: 1, at: 5, counted: true, served: false },
      600_005,
    ],
    ['when told so', { type: 'due_at', at: 15 }, 15],
    [
      'at once for a model that may be idle for less',
      { type: 'policy_set', policy: policy([model('chat')]) },
      0,
    ],
    [
      'not for one that is never idle',
      { type: 'policy_set', policy: policy([model('chat', { idleUnloadMs: null })]) },
      NEVER,
    ],
  ];
  for (const [name, change, at] of ROWS) {
    test(name, () => {
      assert.equal(folded(running(), change).nextDue, at);
    });
  }

  test('never later than it was to, and anew when it was reset', () => {
    const state = folded(running(), { type: 'due_at', at: 15 }, { type: 'due_at', at: 16 });
    assert.equal(state.nextDue, 15);
    assert.equal(folded(state, { type: 'due_reset', at: 40 }).nextDue, 40);
  });

  test('when an instance that got ready was idle for so long, where that has an end', () => {
    for (const [idle, due] of [
      [700, 750],
      [null, NEVER],
    ] as const) {
      const state = running(idle);
      const [instance] = state.instances.values();
      assert.ok(instance);
      instance.phase = { state: 'starting', since: 0, adopted: false };
      assert.equal(folded(state, moved('ready')).nextDue, due);
    }
  });

  test('when those that are left were idle for so long, since one of their model goes', () => {
    for (const [phase, due] of [
      [{ state: 'ready', since: 0 }, 740],
      [{ state: 'starting', since: 0, adopted: false }, NEVER],
    ] as const) {
      const state = running(700);
      const [instance] = state.instances.values();
      assert.ok(instance);
      state.instances.set('i2', { ...instance, id: 'i2', phase, idleSince: 40 });
      assert.equal(folded(state, moved('draining')).nextDue, due);
    }
  });

  test('not while another lease of the instance holds', () => {
    const state = running();
    const [instance] = state.instances.values();
    instance?.leases.add(2);
    assert.equal(
      folded(state, { type: 'lease_ended', request: 1, at: 5, counted: true, served: false }).nextDue,
      NEVER,
    );
  });
});

describe('a fold', () => {
  test('of a lease that ends forgets that its content is late', () => {
    const state = folded(running(), { type: 'request_slow', request: 1, on: true });
    assert.equal(isExpected(state, 'chat'), true);
    assert.equal(isExpected(state, 'other'), false);
    folded(state, { type: 'lease_ended', request: 1, at: 5, counted: true, served: true });
    assert.equal(state.slow.size, 0);
  });

  test('of the end of a request leaves nothing of it', () => {
    const state = folded(
      running(),
      { type: 'request_suspected', request: 1, by: 'i1' },
      { type: 'request_judged', request: 1, until: 80, otherwise: refusal('poison', '') },
    );
    assert.deepEqual([[...state.suspects], [...state.judged]], [[], [1]]);
    folded(
      state,
      { type: 'request_suspected', request: 1, by: 'i1' },
      { type: 'request_closed', request: 1, answered: false },
    );
    assert.deepEqual([state.requests.size, state.suspects.size, state.judged.size], [0, 0, 0]);
    assert.equal(state.counters.failed, 1);
  });

  test('of a request counts it, and of an instance its number', () => {
    const { counters, nextInstance } = running();
    assert.deepEqual([counters.requests, nextInstance], [1, 2]);
  });

  test('of a counted prompt is one that is not asked for again', () => {
    for (const tokens of [5, null]) {
      const state = folded(
        running(),
        { type: 'count_asked', request: 1 },
        { type: 'prompt_counted', request: 1, tokens },
      );
      assert.deepEqual([state.requests.get(1)?.counting, state.requests.get(1)?.tokens], ['done', tokens]);
    }
  });

  test('of a body that is known is for one that is judged', () => {
    const state = folded(running(), { type: 'body_known', request: 1, body: 'b' });
    assert.equal(state.requests.get(1)?.phase.phase, 'running');
    assert.equal('body' in (state.requests.get(1)?.phase ?? {}), false);
  });

  test('of a refused body keeps the newest, and each once', () => {
    const refused = (body: string): Change => ({ type: 'body_refused', body, model: 'chat', until: 9 });
    const state = emptyState();
    for (let n = 0; n < MOST_REFUSED - 1; n += 1) folded(state, refused(`b${n}`));
    folded(state, refused('b0'), refused('new'), refused('newest'));
    assert.equal(state.refusedBodies.size, MOST_REFUSED);
    assert.deepEqual([state.refusedBodies.has('b0'), state.refusedBodies.has('b1')], [true, false]);
  });

  test('of a reduction keeps the newest hundred', () => {
    const reduction = { parallel: 1, context: 2048, since: 0 };
    const state = emptyState();
    for (let n = 0; n <= 100; n += 1) folded(state, { type: 'reduction_set', hash: `h${n}`, reduction });
    assert.deepEqual(
      [state.reductions.size, state.reductions.has('h0'), state.reductions.has('h1')],
      [100, false, true],
    );
  });

  test('of a need counts for those that were adopted without one, and for no other', () => {
    const state = running();
    const [instance] = state.instances.values();
    assert.ok(instance);
    const known = (hash: string, ram: number): Change => ({ type: 'need_known', hash, need: need(ram) });
    folded(state, known('chat-gpu', 2 * GIB));
    assert.equal(instance.need.ram, GIB, 'it runs by the former one');
    instance.need = { ram: 0, mapped: 0, vram: {}, parts: [] };
    folded(state, known('other-gpu', 3 * GIB));
    assert.equal(instance.need.ram, 0);
    folded(state, known('chat-gpu', 3 * GIB));
    assert.equal(instance.need.ram, 3 * GIB);
    folded(state, { type: 'need_forgotten', hash: 'chat-gpu' });
    assert.equal(state.needs.has('chat-gpu'), false);
  });

  test('of an answer forgets that starts had none', () => {
    const told = (since: number | null): Change => ({
      type: 'start_unanswered',
      model: 'chat',
      placement: 'gpu',
      since,
    });
    const state = folded(running(), told(5));
    assert.equal(state.models.get('chat')?.unanswered.get('gpu'), 5);
    assert.equal(folded(state, told(null)).models.get('chat')?.unanswered.size, 0);
  });

  test('of a configuration forgets names that are no more', () => {
    const named = (...aliases: string[]): Change => ({
      type: 'policy_set',
      policy: policy([model('chat', { aliases })]),
    });
    const state = folded(emptyState(), named('old'), named('new'));
    assert.deepEqual(
      [...state.names],
      [
        ['new', 'chat'],
        ['chat', 'chat'],
      ],
    );
  });

  test('of a ready instance keeps its container and what it takes', () => {
    const measured = { placement: 'gpu', ram: 1, vram: 2 } as const;
    const state = folded(running(), { type: 'instance_known', instance: 'i1', container: 'c', measured });
    assert.deepEqual(state.instances.get('i1')?.measured, measured);
    assert.equal(state.instances.get('i1')?.container, 'c');
  });

  test('of a turn puts those of its client and its model at the end of their line', () => {
    const world = makeWorld({ policy: policy([model('chat'), model('other')]), holdStarts: true });
    const [a, b, c] = [{ client: 'a' }, { client: 'a', model: 'other' }, { client: 'b' }].map((one) =>
      world.request(one),
    );
    const next = world.request({ client: 'a' });
    const state = structuredClone(world.loop.state);
    const ticket = (id: number | undefined) => state.requests.get(id ?? 0)?.ticket ?? 0;
    const before = [ticket(b), ticket(c)];
    folded(state, {
      type: 'request_granted',
      request: a ?? 0,
      instance: 'i1',
      placement: 'gpu',
      at: 0,
      wall: 0,
    });
    assert.deepEqual([ticket(b), ticket(c)], before);
    assert.ok(ticket(next) > Math.max(...before));
  });

  test('of what the core does not know, or that the machine forbids, throws and says so', () => {
    const ended: Change = { type: 'lease_ended', request: 1, at: 0, counted: true, served: true };
    const starting: InstancePhase = { state: 'starting', since: 0, adopted: false };
    const THROWN: readonly [Change, RegExp][] = [
      [{ type: 'count_asked', request: 99 }, /^Error: request 99 is not known$/],
      [{ type: 'failover_told', instance: 'i99' }, /^Error: instance i99 is not known$/],
      [{ type: 'resting_set', model: 'nobody', on: true }, /^Error: model nobody is not known$/],
      [
        { type: 'instance_moved', instance: 'i1', phase: starting },
        /^Error: instance i1 \(chat\) cannot go from ready to starting$/,
      ],
    ];
    for (const [change, error] of THROWN) assert.throws(() => folded(running(), change), error);
    const waiting = folded(running(), {
      type: 'request_waits',
      request: 1,
      head: true,
      since: 0,
      notBefore: 0,
      deadlineAt: 9,
    });
    assert.throws(() => folded(waiting, ended), /^Error: request 1 holds no lease$/);
  });
});

test('each fold and each fact is a version of the state, and some facts are kept', () => {
  const state = emptyState();
  const { version } = state;
  folded(state, { type: 'sampling', on: true });
  evolveFact(state, { type: 'model_loaded', model: 'chat' }, 5);
  assert.equal(state.version, version + 2);
  assert.deepEqual([state.counters.failovers, state.lastFailover], [0, null]);
  evolveFact(state, { type: 'failover', model: 'chat', reason: 'exit' }, 6);
  assert.deepEqual(
    [state.counters.failovers, state.lastFailover],
    [1, { at: 6, model: 'chat', reason: 'exit' }],
  );
  evolveFact(state, { type: 'failover', model: 'chat' }, 7);
  assert.deepEqual(state.lastFailover, { at: 7, model: 'chat', reason: 'unknown' });
  assert.equal(state.lastDrill, null);
  evolveFact(state, { type: 'drill_finished', model: 'chat', scenario: 'kill', verdict: 'passed' }, 8);
  assert.deepEqual(state.lastDrill, { at: 8, model: 'chat', scenario: 'kill', verdict: 'passed' });
});

test('what a run takes over from the one before it has', () => {
  const lastFailover = { at: 1, model: 'chat', reason: 'exit' } as const;
  const lastDrill = { at: 2, model: 'chat', scenario: 'kill', verdict: 'passed' } as const;
  const state = emptyState({ lastFailover, lastDrill });
  assert.deepEqual([state.lastFailover, state.lastDrill], [lastFailover, lastDrill]);
});

describe('an instance', () => {
  const STATES: readonly InstanceState[] = ['starting', 'ready', 'draining', 'failed', 'stopping', 'stuck'];
  function ready(): Instance {
    const [instance] = running().instances.values();
    assert.ok(instance);
    return instance;
  }

  test('moves by its machine alone', () => {
    const moves = STATES.map((from) => [from, STATES.filter((to) => canMove(from, to))]);
    assert.deepEqual(moves, [
      ['starting', ['ready', 'failed', 'stopping']],
      ['ready', ['draining', 'failed', 'stopping']],
      ['draining', ['draining', 'failed', 'stopping']],
      ['failed', ['failed', 'stuck']],
      ['stopping', ['stuck']],
      ['stuck', []],
    ]);
    const instance = ready();
    assert.throws(() => checkMove(instance, 'stuck'), /from ready to stuck/);
    assert.doesNotThrow(() => checkMove(instance, 'draining'));
  });

  test('gives memory back where it goes, and not where it does not', () => {
    const instance = ready();
    const leaving = STATES.filter((state) =>
      isLeaving({ ...instance, phase: { state, since: 0 } as InstancePhase }),
    );
    assert.deepEqual(leaving, ['draining', 'failed', 'stopping']);
  });

  test('on the CPU stands by where a better one is ready, not where that starts', () => {
    const instance = ready();
    const cpu = { ...instance, id: 'i2', placement: 'cpu', profile: profile('chat', 'cpu') } as const;
    for (const [standby, phase, is] of [
      ['warm', { state: 'ready', since: 0 }, true],
      ['warm', { state: 'starting', since: 0, adopted: false }, false],
      ['cold', { state: 'ready', since: 0 }, false],
    ] as const) {
      const state = running();
      const profiles = { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { standby }) };
      state.policy = policy([model('chat', { profiles })]);
      state.instances.set('i1', { ...instance, phase });
      assert.equal(isStandingBy(state, cpu), is);
    }
  });
});

test('a problem is known by its code, its model and what it is about', () => {
  const words = { text: '', fix: '' };
  assert.deepEqual(problemId({ ...words, code: 'docker_failed' } as typeof PROBLEM), {
    code: 'docker_failed',
  });
  const full = { code: 'docker_failed', model: 'chat', about: 'x' } as const;
  assert.deepEqual(problemId({ ...full, ...words } as typeof full), full);
  assert.equal(problemKey(full), 'docker_failed:chat:x');
  assert.equal(problemKey({ code: 'docker_failed' }), 'docker_failed::');
});

describe('a report', () => {
  const NOW = { mono: 5_000, wall: 9_000 };

  test('of the broker is a fact', () => {
    const told = (up: boolean, detail: string | null) =>
      decide(emptyState(), { type: 'broker_changed', up, detail }, NOW).facts;
    assert.deepEqual(told(true, null), [{ type: 'broker_back' }]);
    assert.deepEqual(told(false, 'refused'), [{ type: 'broker_lost', detail: 'refused' }]);
  });

  test('of a body whose request is gone means nothing', () => {
    assert.deepEqual(
      decide(emptyState(), { type: 'body_identified', request: 9, body: 'b' }, NOW).changes,
      [],
    );
  });

  test('of a problem that is gone ends outages only where it is an image that came', () => {
    const state = running();
    const outage = {
      placement: 'gpu',
      reason: 'start_failed',
      detail: null,
      since: NOW,
      retryAt: 9_000,
      failures: 1,
    } as const;
    state.models.get('chat')?.outages.set('gpu', outage);
    const gone = (code: 'image_missing' | 'model_file_missing') =>
      decide(state, { type: 'problem_gone', code, about: 'llama:gpu' }, NOW).changes.map(({ type }) => type);
    assert.deepEqual(gone('image_missing'), ['problem_cleared', 'outage_set']);
    assert.deepEqual(gone('model_file_missing'), ['problem_cleared']);
  });

  test('of a need takes back what stood in the way of the try before, whatever it says now', () => {
    const about = { code: 'model_file_missing', about: 'f', text: '', fix: '' } as const;
    for (const input of [
      { type: 'need_estimated', hash: 'h', need: need(GIB) },
      { type: 'need_unknown', hash: 'h', problem: PROBLEM },
    ] as const) {
      const cleared = (state: State) =>
        decide(state, input, NOW).changes.filter(({ type }) => type === 'problem_cleared');
      const state = emptyState();
      assert.deepEqual(cleared(state), []);
      state.needs.set('h', { kind: 'pending', problem: about });
      assert.deepEqual(cleared(state), [{ type: 'problem_cleared', key: 'model_file_missing::f' }]);
      state.needs.set('h', { kind: 'pending', problem: null });
      assert.deepEqual(cleared(state), []);
    }
  });
});
