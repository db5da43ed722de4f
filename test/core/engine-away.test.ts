/** Docker is restarted: what it cannot do meanwhile is nobody's failure, and requests wait for it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../../app/core/request.ts';
import { model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, type World } from '../support/world.ts';

const PROBLEM = { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' } as const;
/** As the adapter tells a start while Docker is away. */
const NOT_ASKED = {
  ...DEAD,
  exitCode: null,
  error: 'connect ENOENT /var/run/docker.sock',
  engineAway: true,
} as const;

/** In the middle of a text. */
const CUT: Outcome = { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'content' };

const lose = (world: World, code: 'docker_not_running' | 'docker_failed' = PROBLEM.code) =>
  world.submit({ type: 'engine_unreachable', engine: 'local', problem: { ...PROBLEM, code } });

function comeBack(world: World): void {
  world.submit({ type: 'engine_reachable', engine: 'local' });
  world.submit({ type: 'containers_observed', engine: 'local', containers: [] });
}

const isServed = (world: World, request: number) => world.grantOf(request) !== undefined;

describe('an engine that went away', () => {
  test('is waited for: a request is served when it is back', () => {
    const world = makeWorld({ policy: policy([model('chat')]) });
    lose(world);
    const request = world.request();
    world.advance(59_999);
    assert.equal(world.refusalOf(request), undefined);
    comeBack(world);
    assert.equal(isServed(world, request), true);
  });

  test('is waited for by those who waited before it went, and by a text that goes on', () => {
    const world = makeWorld({
      policy: policy([model('chat')], { failover: { resume: 'same-file', returnAfterMs: 1_000 } }),
    });
    const cut = world.request();
    lose(world);
    world.end(cut, CUT);
    assert.equal(world.refusalOf(cut), undefined);
    comeBack(world);
    assert.equal(isServed(world, cut), true);
  });

  test('is given up after a minute, whatever is wrong with it meanwhile: those who wait hear why', () => {
    const world = makeWorld({ policy: policy([model('chat')]) });
    lose(world);
    const request = world.request();
    world.advance(30_000);
    lose(world, 'docker_failed');
    world.advance(29_999);
    assert.equal(world.refusalOf(request), undefined);
    world.advance(1);
    assert.equal(world.refusalOf(request)?.code, 'preparing');
    assert.equal(world.refusalOf(world.request())?.code, 'preparing');
  });

  for (const returnAfterMs of [30_000, 120_000]) {
    test(`is given up after a minute also by those whose instances it took along for ${returnAfterMs} ms`, () => {
      const world = makeWorld({
        policy: policy([model('chat', { placements: ['gpu'] })], {
          failover: { resume: 'never', returnAfterMs },
        }),
      });
      world.end(world.request());
      const [instance = ''] = world.loop.state.instances.keys();
      lose(world);
      world.submit({ type: 'instance_exited', instance, evidence: { ...DEAD, killedOutside: true } });
      const request = world.request();
      world.advance(59_999);
      assert.equal(world.refusalOf(request), undefined);
      world.advance(1);
      assert.equal(world.refusalOf(request)?.code, 'preparing');
      assert.match(world.refusalOf(request)?.message ?? '', /Docker does not run/);
    });
  }

  test('makes no placement a failed one where a start met it before it was told', () => {
    let away = true;
    const world = makeWorld({
      policy: policy([model('chat')], { failover: { resume: 'never', returnAfterMs: 30_000 } }),
      startFails: () => (away ? NOT_ASKED : null),
    });
    const request = world.request();
    const { length } = world.started;
    world.advance(10_000);
    assert.equal(world.started.length, length, 'nothing is begun there meanwhile');
    assert.equal(world.loop.state.models.get('chat')?.outages.size, 0);
    lose(world);
    world.advance(49_999);
    assert.equal(world.refusalOf(request), undefined, 'a minute from the first sign of it');
    away = false;
    comeBack(world);
    assert.equal(isServed(world, request), true);
  });
});

test('an engine that was never there is told at once', () => {
  const elsewhere = profile('chat', 'cpu');
  const remote = { ...elsewhere, engine: 'remote' };
  const only = model('chat', { placements: ['cpu'], profiles: { cpu: remote } });
  const world = makeWorld({ policy: policy([only]) });
  world.submit({ type: 'engine_unreachable', engine: 'remote', problem: PROBLEM });
  assert.equal(world.refusalOf(world.request())?.code, 'preparing');
});

test('a placement whose starts are never answered while the engine is seen gives way to the next one', () => {
  const world = makeWorld({
    policy: policy([model('chat')], { failover: { resume: 'never', returnAfterMs: 30_000 } }),
    startFails: ({ profile: { placement } }) => (placement === 'gpu' ? NOT_ASKED : null),
  });
  const request = world.request({ deadlineMs: 200_000 });
  for (let seen = 0; seen < 90 && !isServed(world, request); seen += 1) {
    world.advance(1_000);
    world.submit({ type: 'containers_observed', engine: 'local', containers: [] });
  }
  assert.equal(world.grantOf(request)?.placement, 'cpu');
  assert.equal(world.loop.state.models.get('chat')?.outages.get('gpu')?.reason, 'connection_lost');
});

test('an engine that is away holds up nobody whom another one can serve', () => {
  const gpu = { ...profile('chat', 'gpu'), engine: 'tower' };
  const world = makeWorld({
    policy: policy([model('chat', { profiles: { gpu, cpu: profile('chat', 'cpu') } })]),
  });
  world.submit({ type: 'engine_reachable', engine: 'tower' });
  world.submit({ type: 'containers_observed', engine: 'tower', containers: [] });
  world.submit({ type: 'engine_unreachable', engine: 'tower', problem: PROBLEM });
  assert.equal(world.grantOf(world.request({ deadlineMs: 30_000 }))?.placement, 'cpu');
});
