/** Deaths that speak against no request: who or what ended the instance is known before, or at, the broken socket. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refusedBody } from '../../app/core/blame.ts';
import type { Input } from '../../app/core/inputs.ts';
import { problemKey } from '../../app/core/problem.ts';
import type { Failure, Outcome } from '../../app/core/request.ts';
import { emptyState } from '../../app/core/state.ts';
import type { ExitEvidence } from '../../app/core/types.ts';
import { model, policy } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const chat = policy([model('chat')]);
const RUNNING: ExitEvidence = { ...DEAD, running: true, exitCode: null };
const SHUTDOWN: Input = { type: 'shutdown' };
const BEGAN: Input = { type: 'drill_began', id: 'd', scenario: 'kill', model: 'chat' };
const failed = (failure: Failure): Outcome => ({ kind: 'failed', failure, forwarded: 'nothing' });
const HANG = failed({ kind: 'first_token_deadline' });
const STALL = failed({ kind: 'stall' });
const FROZEN = failed({ kind: 'frozen' });

const at = (world: World, id: number) => world.grantOf(id)?.instance ?? '';
const exited = (world: World, id: number, evidence: Partial<ExitEvidence>) =>
  world.submit({ type: 'instance_exited', instance: at(world, id), evidence: { ...DEAD, ...evidence } });
const aloneDeaths = (world: World, id: number) => world.loop.state.requests.get(id)?.aloneDeaths;

describe('a request whose one of two deaths is excused ends at once, without a wait for evidence', () => {
  type Dies = (world: World) => number;
  const alone = (end: (world: World, id: number) => void, drill = false): Dies => {
    return (world) => {
      const id = world.request({ drill });
      end(world, id);
      return id;
    };
  };
  /** Another one finds the instance out of order first. */
  const besides = (found: Outcome): Dies => {
    return (world) => {
      const [other, id] = [world.request(), world.request()];
      world.end(other, found);
      world.end(id, RESET);
      world.submit({ type: 'request_abandoned', request: other });
      return id;
    };
  };
  const excuses: readonly [string, Dies][] = [
    [
      'a pause',
      alone((world, id) => {
        world.submit({ type: 'instance_paused', instance: at(world, id) });
        world.end(id, RESET);
      }),
    ],
    [
      'a kill from outside',
      alone((world, id) => {
        world.submit({
          type: 'instance_exited',
          instance: at(world, id),
          evidence: { ...RUNNING, killedOutside: true },
        });
        world.end(id, RESET);
      }),
    ],
    ['a hang that another request met', besides(HANG)],
    ['a stall that another request met', besides(STALL)],
    ['a standstill that another request met', besides(FROZEN)],
    ['a hang of its own', alone((world, id) => world.end(id, HANG))],
    [
      'a drill',
      alone((world, id) => {
        world.submit(BEGAN);
        world.end(id, RESET);
      }, true),
    ],
    [
      'a death that was examined: it counts once',
      alone((world, id) => {
        exited(world, id, { exitCode: 137 });
        world.end(id, RESET);
      }),
    ],
    [
      'a container that does not go, so that nothing is known of its death',
      alone((world, id) => {
        const instance = at(world, id);
        world.end(id, RESET);
        world.submit({ type: 'instance_stuck', instance, detail: 'it does not go' });
      }),
    ],
  ];
  for (const [name, dies] of excuses) {
    test(name, () => {
      const world = makeWorld({ policy: chat, holdRemovals: true });
      const id = dies(world);
      assert.equal(world.grantOf(id)?.placement, 'cpu');
      world.end(id, RESET);
      assert.equal(world.refusalOf(id)?.code, 'backend_failed');
    });
  }

  test('the second one by a hang, also where the first was examined meanwhile', () => {
    for (const isExamined of [false, true]) {
      const world = makeWorld({ policy: chat, holdRemovals: true });
      const id = world.request();
      const instance = at(world, id);
      world.end(id, RESET);
      if (isExamined) world.submit({ type: 'instance_exited', instance, evidence: DEAD });
      world.end(id, HANG);
      assert.equal(world.refusalOf(id)?.code, 'backend_failed');
    }
  });

  test('the second one by our own end', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    world.end(id, RESET);
    world.submit(SHUTDOWN);
    world.end(id, RESET);
    assert.equal(world.refusalOf(id)?.code, 'backend_failed');
  });
});

describe('two requests whose instance Docker tells of before their sockets break', () => {
  const table: readonly [string, Partial<ExitEvidence>, number][] = [
    ['by a kill from outside go on together', { killedOutside: true, exitCode: 137 }, 2],
    ['by the memory limit go on together', { oomKilled: true, exitCode: 137 }, 2],
    ['by itself go on one at a time', {}, 1],
  ];
  for (const [name, evidence, together] of table) {
    test(name, () => {
      const world = makeWorld({ policy: chat, holdRemovals: true });
      const pair = [world.request(), world.request()];
      exited(world, pair[0] ?? 0, evidence);
      for (const id of pair) world.end(id, RESET);
      assert.equal(pair.filter((id) => world.grantOf(id)?.placement === 'cpu').length, together);
    });
  }
});

describe('requests that were in flight together', () => {
  function suspects(world: World, name = 'chat'): number[] {
    const pair = [world.request({ model: name }), world.request({ model: name })];
    for (const id of pair) world.end(id, RESET);
    return pair;
  }

  test('count no death of their own, whichever socket broke last', () => {
    const world = makeWorld({ policy: chat });
    for (const id of suspects(world)) assert.equal(aloneDeaths(world, id), 0);
  });

  test('stay suspects of it when a later death of one alone is excused', () => {
    const evidences = new Map<string, ExitEvidence>();
    const world = makeWorld({ policy: chat, evidence: (instance) => evidences.get(instance) ?? DEAD });
    const [first = 0] = suspects(world).filter((id) => world.grantOf(id) !== undefined);
    evidences.set(at(world, first), { ...DEAD, oomKilled: true });
    world.end(first, RESET);
    assert.equal(aloneDeaths(world, first), 0);
    assert.ok(world.loop.state.suspects.has(first));
  });

  test('run one at a time, also where two instances are free', () => {
    const world = makeWorld({ policy: chat });
    const pair = suspects(world);
    world.advance(30_000);
    assert.deepEqual(world.placements().sort(), ['cpu', 'gpu']);
    assert.equal(pair.filter((id) => world.grantOf(id) !== undefined).length, 1);
  });

  test('hold up no other model: neither its requests nor its own suspects', () => {
    const world = makeWorld({ policy: policy([model('chat'), model('other')]) });
    const pairs = [suspects(world), suspects(world, 'other')];
    for (const pair of pairs) assert.equal(pair.filter((id) => world.grantOf(id) !== undefined).length, 1);
    const third = makeWorld({ policy: policy([model('chat'), model('other')]) });
    suspects(third);
    for (const id of [1, 2].map(() => third.request({ model: 'other' }))) assert.ok(third.grantOf(id));
  });

  test('leave the slots of another instance to the others while one of them runs', () => {
    const world = makeWorld({ policy: chat });
    suspects(world);
    world.advance(30_000);
    for (const id of [1, 2].map(() => world.request())) assert.equal(world.grantOf(id)?.placement, 'gpu');
  });

  test('keep the place of their own model, whatever else runs on that placement', () => {
    const other = model('other', { placements: ['cpu'] });
    const world = makeWorld({ policy: policy([other, model('chat')]) });
    assert.equal(world.grantOf(world.request({ model: 'other' }))?.placement, 'cpu');
    const busy = world.request();
    world.end(busy, RESET);
    world.advance(30_000);
    suspects(world);
    assert.equal(world.grantOf(world.request()), undefined, 'a slot of the CPU is free, but not for it');
  });
});

test('a death that Docker told first, and that the socket shows while the container goes, counts once', () => {
  const world = makeWorld({ policy: chat, holdRemovals: true });
  const id = world.request();
  exited(world, id, {});
  world.end(id, RESET);
  assert.equal(world.grantOf(id)?.placement, 'cpu');
  assert.equal(aloneDeaths(world, id), 1);
});

test("a death that another request's model had counts for nobody else", () => {
  const world = makeWorld({ policy: policy([model('chat'), model('other')]), holdRemovals: true });
  world.end(world.request({ model: 'other' }), RESET);
  const id = world.request();
  world.end(id, RESET);
  assert.equal(world.grantOf(id)?.placement, 'cpu');
});

describe('refused bodies', () => {
  /** Convicts a request with this body. */
  function convict(world: World, body: string, name = 'chat'): void {
    const id = world.request({ body, model: name });
    for (let n = 0; n < 2; n += 1) {
      if (world.grantOf(id) === undefined) world.advance(60_000);
      world.end(id, RESET);
    }
    assert.equal(world.refusalOf(id)?.code, 'poison');
  }

  test('are counted by model, and the problem says how many', () => {
    const world = makeWorld({ policy: policy([model('chat'), model('other')]) });
    convict(world, 'a');
    convict(world, 'o', 'other');
    convict(world, 'b');
    const told = (name: string) => world.loop.state.problems.get(problemKey({ code: 'poison', model: name }));
    assert.equal(told('chat')?.params?.['count'], 2);
    assert.match(told('chat')?.text ?? '', /^2 request\(s\) to chat /);
    assert.equal(told('other')?.params?.['count'], 1);
  });

  test('none is remembered where the edge no longer has it', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    for (const _ of [1, 2]) world.end(id, RESET);
    world.submit({ type: 'body_identified', request: id, body: null });
    for (const _ of [1, 2]) world.finishRemoval();
    assert.equal(world.refusalOf(id)?.code, 'poison');
    assert.equal(world.loop.state.refusedBodies.size, 0);
  });

  test('are refused until their time is over, with the minutes that are left', () => {
    const state = emptyState();
    state.refusedBodies.set('bad', { model: 'chat', until: 600_000 });
    const told = (mono: number) => refusedBody(state, 'bad', { mono, wall: 0 })?.message ?? '';
    assert.match(told(0), /backends of chat .* for 10 min\.$/);
    assert.match(told(300_000), / 5 min\.$/);
    assert.match(told(599_999), / 1 min\.$/);
    assert.equal(refusedBody(state, 'bad', { mono: 600_000, wall: 0 }), null);
  });
});
