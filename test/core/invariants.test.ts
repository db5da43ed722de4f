/**
 * Properties of the core over random sequences of inputs, on a world whose starts and removals end when the
 * sequence says so. After each step the promises must hold.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit, hostBytes } from '../../app/core/admission.ts';
import { decide } from '../../app/core/decide.ts';
import { waitsForDrill } from '../../app/core/drill.ts';
import type { Input } from '../../app/core/inputs.ts';
import { settle } from '../../app/core/schedule.ts';
import type { Carried } from '../../app/core/state.ts';
import { entry, MODELS, running, type Shared, type Step, steps } from '../support/core-steps.ts';
import { GIB, host, model, need, policy } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const startsWork: Step = (_, shared) => {
  shared.startsFail = 'no';
};

const ends: Step = (world) => world.submit({ type: 'shutdown' });
const engineIsBack: Step = (world) => {
  world.submit({ type: 'engine_reachable', engine: 'local' });
  world.submit({ type: 'containers_observed', engine: 'local', containers: [] });
};

const FAILURES = {
  no: null,
  of_memory: { ...DEAD, log: ['ErrorOutOfDeviceMemory'] },
  unanswered: { ...DEAD, exitCode: null, error: 'connect ENOENT', engineAway: true },
} as const;

const newShared = (): Shared => ({
  startsFail: 'no',
  asked: [],
  commands: 0,
  left: new Set(),
  ended: new Map(),
});

function run(sequence: readonly Step[], shared = newShared(), carried: Partial<Carried> = {}): World {
  const world = makeWorld({
    policy: policy(MODELS.map((each) => entry(each))),
    carried,
    memory: host(12 * GIB),
    needOf: ({ gpu }) => need(gpu === null ? 3 * GIB : GIB, gpu === null ? 0 : 4 * GIB),
    holdStarts: true,
    holdRemovals: true,
    tokensOf: (id) => [null, 3, 1000, 5000][id % 4],
    startFails: () => FAILURES[shared.startsFail],
  });
  let seen = 0;
  for (const step of sequence) {
    step(world, shared);
    checkState(world);
    checkDue(world);
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

/** Whatever time brings is decided when it comes due. A reading of the host that is old by now is due with what needs it. */
function checkDue({ loop: { state }, now }: World): void {
  const { changes, facts } = settle(state, now());
  const late = changes.filter(({ type }) => type !== 'sampling');
  assert.deepEqual([late, facts], [[], []], 'no alarm was set for it');
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

test('whatever was learned of the length of answers decides nothing', () => {
  const speed = { prompt: 40, generation: 8 };
  const speeds = { 'a-gpu': speed, 'a-cpu': speed, 'b-gpu': speed, 'b-cpu': speed };
  const tokens = fc.integer({ min: 1, max: 100_000 });
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 80, size: 'max' }), tokens, tokens, (sequence, a, b) => {
      const knowing = run(sequence, newShared(), { speeds, answerTokens: { a, b } });
      const not = run(sequence, newShared(), { speeds });
      assert.equal(knowing.loop.state.answerTokens.get('a'), a);
      assert.deepEqual([knowing.effects, knowing.facts], [not.effects, not.facts]);
      assert.equal(knowing.loop.state.nextDue, not.loop.state.nextDue);
    }),
    { numRuns: 100 },
  );
});

test('once parts work again, every request has ended exactly once, and every command was answered', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40, size: 'max' }), fc.boolean(), (sequence, shutdown) => {
      const shared = newShared();
      const last = shutdown ? [startsWork, engineIsBack, ends] : [startsWork, engineIsBack];
      const world = run([...sequence, ...last], shared);
      for (let round = 0; round < 400; round += 1) {
        world.finishStart();
        world.finishRemoval();
        for (const request of running(world)) {
          shared.left.add(request.id);
          world.end(request.id);
        }
        world.advance(1_000);
      }
      const { requests, waiting } = world.loop.state;
      assert.deepEqual([waiting, [...requests.keys()]], [[], []]);
      const told = new Map<number, number>();
      for (const effect of world.effects) {
        if (effect.type !== 'refuse' && effect.type !== 'pass_on') continue;
        told.set(effect.request, (told.get(effect.request) ?? 0) + 1);
      }
      for (const id of shared.asked) {
        assert.equal(shared.left.has(id) ? 1 : told.get(id), 1, `ends of request ${id}`);
      }
      const answers = world.effects.flatMap((each) => (each.type === 'answer_command' ? [each.id] : []));
      const commands = Array.from({ length: shared.commands }, (_, n) => n + 1);
      if (!shutdown)
        assert.deepEqual(
          answers.toSorted((a, b) => a - b),
          commands,
          'answers to commands',
        );
      assert.equal(world.effects.filter(({ type }) => type === 'stopped').length, shutdown ? 1 : 0);
    }),
    { numRuns: 200 },
  );
});

test('whatever happened, and though no part reports any more, no request outlives its deadline', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40, size: 'max' }), (sequence) => {
      const shared = newShared();
      const world = run(sequence, shared);
      for (let tries = 0; tries < 3; tries += 1) {
        for (const request of running(world)) world.end(request.id, RESET);
        world.advance(300_001);
      }
      for (const request of running(world)) world.end(request.id);
      assert.deepEqual([...world.loop.state.requests.keys()], []);
      checkEffects(world, { ...shared, ended: new Map() }, 0);
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
