/** Who is convicted of a death, who is suspected, and what becomes of both. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evolve } from '../../app/core/evolve.ts';
import { problemKey } from '../../app/core/problem.ts';
import type { Outcome } from '../../app/core/request.ts';
import type { ExitEvidence } from '../../app/core/types.ts';
import { model, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { COMPLETED, DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const MINUTE = 60_000;
const chat = policy([model('chat')]);
const poisoned = (world: World, id: number) => world.refusalOf(id)?.code === 'poison';

/** Ends whatever runs with a death, so often. */
function die(world: World, id: number, times: number): void {
  for (let n = 0; n < times; n += 1) {
    if (world.grantOf(id) === undefined) world.advance(2_000);
    world.end(id, RESET);
  }
}

describe('a request that was alone on two instances that died', () => {
  test('is poison: one error, no third try', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    die(world, id, 2);
    assert.equal(poisoned(world, id), true);
    assert.equal(world.refusalOf(id)?.retryAfter, null);
    assert.equal(world.facts.find((fact) => fact.code === 'poison')?.requestId, `x${id}`);
    assert.equal(world.loop.state.requests.size, 0);
  });

  test('is refused for ten minutes by its body, and taken again after that', () => {
    const world = makeWorld({ policy: chat });
    die(world, world.request({ body: 'bad' }), 2);
    world.advance(10 * MINUTE - 1);
    const again = world.request({ body: 'bad' });
    assert.equal(poisoned(world, again), true);
    assert.equal(poisoned(world, world.request({ body: 'other' })), false);
    assert.equal(
      world.loop.state.problems.get(problemKey({ code: 'poison', model: 'chat' }))?.params?.['count'],
      1,
    );
    world.advance(1);
    assert.equal(poisoned(world, world.request({ body: 'bad' })), false);
    assert.equal(world.loop.state.refusedBodies.size, 0);
    assert.equal(world.loop.state.problems.size, 0);
  });

  test('waits for the evidence of its deaths before it is called so', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    world.end(id, RESET);
    world.end(id, RESET);
    assert.equal(world.refusalOf(id), undefined);
    world.finishRemoval();
    assert.equal(world.refusalOf(id), undefined);
    world.finishRemoval();
    assert.equal(poisoned(world, id), true);
  });

  test('waits no longer for evidence than Docker may take, and then ends as it failed', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request();
    world.end(id, RESET);
    world.end(id, RESET);
    world.advance(2 * MINUTE - 1);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(1);
    assert.equal(world.refusalOf(id)?.code, 'backend_failed');
    assert.equal(world.loop.state.requests.size, 0);
  });

  test('is judged even where its client went in the meantime', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const id = world.request({ body: 'bad' });
    world.end(id, RESET);
    world.end(id, RESET);
    world.submit({ type: 'request_abandoned', request: id });
    world.finishRemoval();
    world.finishRemoval();
    assert.equal(world.loop.state.requests.size, 0);
    assert.equal(poisoned(world, world.request({ body: 'bad' })), true);
  });

  test('is told by Docker before the socket broke, and counted once', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    const instance = world.grantOf(id)?.instance ?? '';
    world.submit({ type: 'instance_exited', instance, evidence: DEAD });
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: true }, forwarded: 'nothing' });
    assert.equal(world.grantOf(id)?.attempt, 2);
    assert.equal(world.loop.state.requests.get(id)?.aloneDeaths, 1);
    const second = world.grantOf(id)?.instance ?? '';
    world.submit({ type: 'instance_exited', instance: second, evidence: DEAD });
    world.end(id, RESET);
    assert.equal(poisoned(world, id), true);
    assert.equal(world.loop.state.refusedBodies.size, 1);
  });
});

describe('nobody is convicted of a death', () => {
  const innocent: readonly [string, Partial<ExitEvidence>][] = [
    ['by a kill or a stop from outside', { killedOutside: true, exitCode: 137 }],
    ['by the memory limit', { oomKilled: true, exitCode: 137 }],
    ['by a signal that no program sends itself', { exitCode: 137 }],
    ['by SIGTERM', { exitCode: 143 }],
    ['that did not happen: the connection broke, the program lives', { running: true, exitCode: null }],
    ['that the engine could not tell of', { exitCode: null, error: 'the engine could not be asked' }],
  ];
  for (const [name, evidence] of innocent) {
    test(name, () => {
      const world = makeWorld({ policy: chat, evidence: () => ({ ...DEAD, ...evidence }) });
      const id = world.request({ body: 'good' });
      die(world, id, 2);
      assert.equal(world.refusalOf(id)?.code, 'backend_failed');
      assert.equal(poisoned(world, world.request({ body: 'good' })), false);
    });
  }

  test('by a pause, though the same request was alone on both', () => {
    const world = makeWorld({ policy: chat });
    const id = world.request();
    for (const _ of [1, 2]) {
      world.submit({ type: 'instance_paused', instance: world.grantOf(id)?.instance ?? '' });
      world.end(id, RESET);
    }
    assert.equal(world.refusalOf(id)?.code, 'backend_failed');
  });

  test('after output it is the error of a stream that cannot go on', () => {
    const world = makeWorld({ policy: chat, evidence: () => ({ ...DEAD, killedOutside: true }) });
    const id = world.request();
    world.end(id, RESET);
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'more' });
    assert.equal(world.refusalOf(id)?.code, 'failed_after_output');
  });
});

describe('requests that were in flight together at a death', () => {
  /** `bad` and `good` on the GPU, which dies of it; the CPU is up. */
  function suspects() {
    const world = makeWorld({ policy: chat });
    const [bad, good] = [world.request({ body: 'bad' }), world.request({ body: 'good' })];
    world.end(bad, RESET);
    world.end(good, RESET);
    return { world, bad, good };
  }

  test('run one at a time, each alone on its instance', () => {
    const { world, bad, good } = suspects();
    const runs = [bad, good].filter((id) => world.grantOf(id) !== undefined);
    assert.equal(runs.length, 1);
    const other = world.request();
    assert.equal(world.grantOf(other), undefined);
    world.end(runs[0] ?? 0);
    assert.equal([bad, good].filter((id) => world.grantOf(id) !== undefined).length, 1);
    assert.equal(world.grantOf(other), undefined);
    world.end(runs[0] === bad ? good : bad);
    assert.equal(world.grantOf(other)?.placement, 'cpu');
  });

  test('the one that ends two more instances alone is poison, the other is answered', () => {
    const { world, bad, good } = suspects();
    for (let step = 0; step < 60 && world.loop.state.requests.size > 0; step += 1) {
      if (world.grantOf(bad) !== undefined) world.end(bad, RESET);
      else if (world.grantOf(good) !== undefined) world.end(good, COMPLETED);
      else world.advance(1_000);
    }
    assert.equal(poisoned(world, bad), true);
    assert.equal(world.refusalOf(good), undefined);
    const grants = (id: number) =>
      world.effects.filter((effect) => effect.type === 'grant' && effect.request === id).length;
    assert.equal(grants(bad), 3);
    assert.equal(grants(good), 2);
  });

  test('are suspects no longer when the death had another cause', () => {
    const world = makeWorld({ policy: chat, evidence: () => ({ ...DEAD, oomKilled: true }) });
    const ids = [world.request(), world.request()];
    for (const id of ids) world.end(id, RESET);
    assert.equal(world.loop.state.suspects.size, 0);
    assert.deepEqual(
      ids.map((id) => world.grantOf(id)?.placement),
      ['cpu', 'cpu'],
    );
  });

  test('are no suspects where Docker told of another cause before their sockets broke', () => {
    const world = makeWorld({ policy: chat, holdRemovals: true });
    const ids = [world.request(), world.request()];
    const instance = world.grantOf(ids[0] ?? 0)?.instance ?? '';
    const evidence = { ...DEAD, exitCode: 137, killedOutside: true };
    world.submit({ type: 'instance_exited', instance, evidence });
    for (const id of ids) world.end(id, RESET);
    for (const id of ids) {
      assert.equal(world.loop.state.requests.get(id)?.suspectOf, null);
      assert.equal(world.grantOf(id)?.placement, 'cpu', 'both run at once');
    }
  });

  test('wait for a busy instance to be free, and no new request overtakes them there', () => {
    const profiles = { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu') };
    const world = makeWorld({ policy: policy([model('chat', { profiles })]) });
    const first = world.request();
    world.end(first, RESET);
    world.advance(30_000);
    // The GPU is back; the CPU still answers the first.
    const pair = [world.request(), world.request()];
    for (const id of pair) world.end(id, RESET);
    assert.deepEqual(
      pair.map((id) => world.grantOf(id)),
      [undefined, undefined],
    );
    const late = world.request();
    assert.equal(world.grantOf(late), undefined);
    world.end(first);
    assert.equal(pair.filter((id) => world.grantOf(id)?.placement === 'cpu').length, 1);
    assert.equal(world.grantOf(late), undefined);
  });
});

test('the table of refused bodies is bounded', () => {
  const world = makeWorld({ policy: chat });
  for (let n = 0; n < 100; n += 1) {
    evolve(world.loop.state, { type: 'body_refused', body: `b${n}`, model: 'chat', until: Infinity });
  }
  assert.equal(world.loop.state.refusedBodies.size, 64);
  assert.equal(poisoned(world, world.request({ body: 'b99' })), true);
  assert.equal(poisoned(world, world.request({ body: 'b0' })), false);
});

test('whoever was never alone on two deaths of its own is never convicted', () => {
  const outcomes = fc.constantFrom<Outcome>(COMPLETED, RESET, RESET, {
    kind: 'client_gone',
    finished: false,
  });
  const steps = fc.array(fc.tuple(fc.nat(5), outcomes, fc.boolean(), fc.constantFrom(139, 134, 137)), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, (sequence) => {
      let exitCode = 139;
      const world = makeWorld({ policy: chat, evidence: () => ({ ...DEAD, exitCode }) });
      const deaths = new Map<number, number>();
      for (const [index, outcome, arrives, code] of sequence) {
        if (arrives) world.request();
        const running = [...world.loop.state.requests.values()].filter(
          (one) => one.phase.phase === 'running',
        );
        const request = running[index % Math.max(1, running.length)];
        if (request === undefined) {
          world.advance(2_000);
          continue;
        }
        exitCode = code;
        const at = request.phase.phase === 'running' ? request.phase.instance : '';
        const instance = world.loop.state.instances.get(at);
        const fresh = instance?.phase.state === 'ready' && instance.leases.size === 1;
        if (outcome === RESET && fresh && code !== 137) {
          deaths.set(request.id, (deaths.get(request.id) ?? 0) + 1);
        }
        world.end(request.id, outcome);
        if (poisoned(world, request.id)) assert.equal(deaths.get(request.id), 2);
        else if (world.refusalOf(request.id)) assert.ok((deaths.get(request.id) ?? 0) < 2);
        for (const suspect of world.loop.state.suspects) {
          const phase = world.loop.state.requests.get(suspect)?.phase;
          if (phase?.phase !== 'running') continue;
          assert.equal(
            world.loop.state.instances.get(phase.instance)?.leases.size,
            1,
            'a suspect runs alone',
          );
        }
      }
    }),
    { numRuns: 300 },
  );
});
