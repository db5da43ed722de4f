/**
 * Properties of the core over random sequences of inputs, on a world whose starts and removals end when the
 * sequence says so. After each step the promises must hold.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fit, hostBytes } from '../../app/core/admission.ts';
import { decide } from '../../app/core/decide.ts';
import { waitsForDrill } from '../../app/core/drill.ts';
import type { Input } from '../../app/core/inputs.ts';
import type { Outcome } from '../../app/core/request.ts';
import { settle } from '../../app/core/schedule.ts';
import type { Mode, Model } from '../../app/core/types.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { COMPLETED, DEAD, makeWorld, RESET, type World } from '../support/world.ts';

type Step = (world: World, shared: Shared) => void;
interface Shared {
  startsFail: boolean;
  readonly ended: Map<number, string>;
}

const MODELS = ['a', 'b'];
const tooLong = (tokens: number): Outcome => ({
  kind: 'failed',
  failure: { kind: 'http', status: 400, message: 'too long', overflow: { tokens, context: 512 } },
  forwarded: 'nothing',
});
const name = fc.constantFrom(...MODELS);
const outcomes: readonly Outcome[] = [
  COMPLETED,
  COMPLETED,
  RESET,
  { kind: 'client_gone', finished: false },
  { kind: 'deadline' },
  { kind: 'failed', failure: { kind: 'reset', reused: true }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'stall' }, forwarded: 'content' },
  { kind: 'failed', failure: { kind: 'http', status: 400, message: 'no' }, forwarded: 'nothing' },
  { kind: 'failed', failure: { kind: 'http', status: 500, message: 'Compute error.' }, forwarded: 'nothing' },
  tooLong(1000),
  tooLong(5000),
];

const pick = <T>(items: readonly T[], index: number): T | undefined =>
  items[index % Math.max(1, items.length)];
const running = (world: World) =>
  [...world.loop.state.requests.values()].filter((request) => request.phase.phase === 'running');
/** One of them keeps its CPU warm. The CPU takes longer prompts than the GPU. */
const entry = (each: string, more: Partial<Model> = {}) => {
  const standby = each === 'b' ? 'warm' : 'cached';
  const gpu = profile(each, 'gpu', { context: 512 });
  const profiles = { gpu, cpu: profile(each, 'cpu', { standby, context: 2048 }) };
  return model(each, { profiles, ...more });
};
function drillStep(what: 'began' | 'eased' | 'sealed' | 'ended', drilled: string): Input {
  if (what === 'began') return { type: 'drill_began', id: 'd', scenario: 'kill', model: drilled };
  return what === 'ended'
    ? { type: 'drill_ended', verdict: 'passed', why: 'seen' }
    : { type: `drill_${what}` };
}
const withPolicy = (keepLoaded: boolean, mode: Mode, only: string) =>
  policy(MODELS.map((each) => entry(each, each === only ? { mode, keepLoaded } : {})));

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        model: name,
        client: fc.constantFrom('x', 'y', 'z'),
        background: fc.boolean(),
        promptBytes: fc.constantFrom(0, 1_500, 5_000, 50_000),
        drill: fc.constantFrom(false, false, false, true),
        own: fc.constantFrom(null, null, 5_000),
      })
      .map(
        ({ own, ...asked }): Step =>
          (world) =>
            void world.request({ ...asked, ...(own === null ? {} : { deadlineMs: own }) }),
      ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(50), fc.constantFrom(...outcomes)).map(
      ([index, outcome]): Step =>
        (world) => {
          const request = pick(running(world), index);
          if (request !== undefined) world.end(request.id, outcome);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (world) => {
          const request = pick(world.loop.state.waiting, index);
          if (request !== undefined) world.submit({ type: 'request_abandoned', request });
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat(50).map(
      (index): Step =>
        (world) => {
          const request = pick(running(world), index);
          if (request !== undefined) world.submit({ type: 'request_slow', request: request.id });
        },
    ),
  },
  { weight: 4, arbitrary: fc.constant<Step>((world) => world.finishStart()) },
  { weight: 4, arbitrary: fc.constant<Step>((world) => world.finishRemoval()) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(1, 50, 2_000, 31_000, 700_000).map(
      (ms): Step =>
        (world) =>
          world.advance(ms),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(50), fc.constantFrom('instance_exited', 'instance_paused')).map(
      ([index, type]): Step =>
        (world) => {
          const instance = pick([...world.loop.state.instances.keys()], index);
          if (instance === undefined) return;
          world.submit(
            type === 'instance_paused'
              ? { type, instance }
              : { type: 'instance_exited', instance, evidence: DEAD },
          );
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('load', 'unload', 'restart'), name, fc.nat()).map(
      ([verb, each, id]): Step =>
        (world) =>
          world.submit({ type: 'command', id, command: { do: verb, model: each } as const }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.boolean(), fc.constantFrom<Mode>('auto', 'cpu', 'gpu', 'off'), name).map(
      ([kept, mode, each]): Step =>
        (world) =>
          world.submit({
            type: 'configured',
            policy: withPolicy(kept, mode, each),
            why: 'settings',
          }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom('began', 'eased', 'sealed', 'ended'), name).map(
      ([what, each]): Step =>
        (world) =>
          world.submit(drillStep(what, each)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (on): Step =>
        (_, shared) => {
          shared.startsFail = on;
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 3, max: 16 }).map(
      (gib): Step =>
        (world) =>
          world.setMemory(host(gib * GIB)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Step>((world) =>
      world.submit({ type: 'containers_observed', engine: 'local', containers: [] }),
    ),
  },
);

const startsWork: Step = (_, shared) => {
  shared.startsFail = false;
};

function run(sequence: readonly Step[]): World {
  const shared: Shared = { startsFail: false, ended: new Map() };
  const world = makeWorld({
    policy: policy(MODELS.map((each) => entry(each))),
    memory: host(12 * GIB),
    needOf: ({ gpu }) => need(gpu === null ? 3 * GIB : GIB, gpu === null ? 0 : 4 * GIB),
    holdStarts: true,
    holdRemovals: true,
    tokensOf: (id) => [null, 3, 1000, 5000][id % 4],
    startFails: () => (shared.startsFail ? { ...DEAD, log: ['ErrorOutOfDeviceMemory'] } : null),
  });
  let seen = 0;
  for (const step of sequence) {
    step(world, shared);
    checkState(world);
    seen = checkEffects(world, shared, seen);
  }
  return world;
}

function checkState({ loop: { state } }: World): void {
  for (const request of state.requests.values()) {
    const { phase } = request;
    const holders = [...state.instances.values()].filter((one) => one.leases.has(request.id));
    if (phase.phase === 'waiting') {
      assert.equal(holders.length, 0, 'a waiting request holds no lease');
      assert.equal(state.waiting.filter((id) => id === request.id).length, 1, 'it waits once');
    } else if (phase.phase === 'judged') assert.equal(holders.length, 0, 'a judged request holds no lease');
    else {
      assert.ok(
        holders.length <= 1 && holders.every((one) => one.id === phase.instance),
        'one lease, where it runs',
      );
      assert.equal(state.waiting.includes(request.id), false, 'a running request does not wait');
    }
    assert.ok(request.attempts <= (request.suspectOf === null ? 2 : 3), 'attempts as the table says');
  }
  for (const instance of state.instances.values()) {
    assert.ok(instance.leases.size <= instance.profile.parallel, 'never more leases than slots');
    for (const id of instance.leases) assert.ok(state.requests.has(id), 'no lease without a request');
    if (instance.phase.state === 'stopping') assert.equal(instance.leases.size, 0, 'in use and stopping');
  }
  const taken = [...state.instances.values()].reduce((sum, one) => sum + hostBytes(one.profile, one.need), 0);
  const total = state.host?.memory.total ?? 0;
  if (state.instances.size > 0)
    assert.ok(taken <= total - Math.max(2 * GIB, total * 0.1), 'models never exceed their budget');
}

/** Each request gets at most one end, and nothing after it. */
function checkEffects(world: World, shared: Shared, from: number): number {
  for (const effect of world.effects.slice(from)) {
    if (effect.type !== 'grant' && effect.type !== 'refuse' && effect.type !== 'pass_on') continue;
    assert.equal(
      shared.ended.get(effect.request),
      undefined,
      `${effect.type} after the end of ${effect.request}`,
    );
    if (effect.type !== 'grant') shared.ended.set(effect.request, effect.type);
    else if (!effect.freshConnection) checkDrill(world, effect.request);
  }
  return world.effects.length;
}

function checkDrill({ loop: { state } }: World, id: number): void {
  const request = state.requests.get(id);
  if (request === undefined) return;
  assert.equal(waitsForDrill(state, request), false, "granted in a drill, though not the drill's own");
}

test('promises hold over any sequence of inputs', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 80, size: 'max' }), (sequence) => {
      run(sequence);
    }),
    { numRuns: 400 },
  );
});

test('once parts work again, every waiting request is served or ended', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40, size: 'max' }), (sequence) => {
      const world = run([...sequence, startsWork]);
      for (let round = 0; round < 400; round += 1) {
        world.finishStart();
        world.finishRemoval();
        for (const request of running(world)) world.end(request.id);
        world.advance(1_000);
      }
      assert.deepEqual(world.loop.state.waiting, []);
      assert.equal(world.loop.state.requests.size, 0);
    }),
    { numRuns: 100 },
  );
});

test('whatever happened, no request waits beyond its deadline', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40, size: 'max' }), (sequence) => {
      const world = run(sequence);
      const before = [...world.loop.state.waiting];
      world.advance(300_001);
      for (const id of before) assert.equal(world.loop.state.waiting.includes(id), false);
    }),
    { numRuns: 150 },
  );
});

test('deciding changes nothing: only the fold does', () => {
  const inputs: readonly Input[] = [
    { type: 'tick' },
    { type: 'shutdown' },
    { type: 'command', id: 1, command: { do: 'unload', model: 'a' } },
    { type: 'containers_observed', engine: 'local', containers: [] },
  ];
  fc.assert(
    fc.property(
      fc.array(steps, { maxLength: 25, size: 'max' }),
      fc.constantFrom(...inputs),
      (sequence, input) => {
        const { state } = run(sequence).loop;
        const now = { mono: 9_000_000, wall: 9_000_000 };
        const before = structuredClone(state);
        const first = decide(state, input, now);
        settle(state, now);
        assert.deepEqual(state, before);
        assert.deepEqual(decide(state, input, now), first);
      },
    ),
    { numRuns: 80 },
  );
});

test('an instance is started only where it fits', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 12 }), (available, bytes) => {
      const world = makeWorld({
        policy: policy([model('a')]),
        memory: host(available * GIB),
        needOf: () => need(bytes * GIB),
      });
      world.request({ model: 'a' });
      const fits = bytes <= Math.min(available - 2, 14);
      assert.equal(world.started.length > 0, fits);
      const [plan] = world.started;
      if (plan !== undefined) assert.ok(fit(world.loop.state, plan.profile, need(0))?.fits ?? false);
    }),
  );
});
