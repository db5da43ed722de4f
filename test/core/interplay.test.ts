/** Where one feature of the core meets another: time, the line, suspects, drills, the standby. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Input } from '../../app/core/inputs.ts';
import type { Outcome } from '../../app/core/request.ts';
import type { ExitEvidence, Reason } from '../../app/core/types.ts';
import { expectedWaitMs } from '../../app/core/waits.ts';
import { model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

const MINUTE = 60_000;
const CUT: Outcome = { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'content' };

describe('an answer that fails when the time to wait is long over', () => {
  test('goes on elsewhere: what it was running was no wait', () => {
    for (const outcome of [CUT, RESET]) {
      const world = makeWorld({ policy: policy([model('chat')]) });
      const id = world.request();
      world.advance(6 * MINUTE);
      world.end(id, outcome);
      assert.equal(world.grantOf(id)?.placement, 'cpu');
    }
  });

  test("goes on where it had begun within the client's own deadline, and ends where it had not", () => {
    for (const { outcome, granted } of [
      { outcome: CUT, granted: true },
      { outcome: RESET, granted: false },
    ]) {
      const world = makeWorld({ policy: policy([model('chat')]) });
      const id = world.request({ deadlineMs: 10_000 });
      world.advance(20_000);
      world.end(id, outcome);
      assert.equal(world.grantOf(id) !== undefined, granted);
      assert.equal(world.refusalOf(id)?.code, granted ? undefined : 'deadline');
    }
  });

  test('waits no longer for it than a new one would', () => {
    const only = model('chat', { placements: ['gpu'] });
    const world = makeWorld({
      policy: policy([only], { queue: { depth: 8, deadlineMs: MINUTE } }),
      holdStarts: true,
    });
    const id = world.request();
    world.finishStart();
    world.advance(6 * MINUTE);
    world.end(id, RESET);
    world.advance(MINUTE - 1);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(1);
    assert.equal(world.refusalOf(id)?.code, 'deadline');
  });
});

test('a suspect holds no instance free that cannot take it', () => {
  const profiles = {
    gpu: profile('chat', 'gpu', { context: 8192 }),
    cpu: profile('chat', 'cpu', { context: 2048, parallel: 1 }),
  };
  const world = makeWorld({ policy: policy([model('chat', { profiles })]) });
  const short = world.request();
  const long = world.request();
  world.submit({ type: 'tokens_counted', request: long, tokens: 6000 });
  world.end(short, RESET);
  world.end(long, RESET);
  assert.equal(world.grantOf(short)?.placement, 'cpu');
  world.end(short);
  const next = world.request();
  assert.equal(world.grantOf(next)?.placement, 'cpu');
  assert.equal(world.loop.state.requests.get(long)?.phase.phase, 'waiting');
});

test('a suspect that waits for an untried placement to load holds no other one free meanwhile', () => {
  const world = makeWorld({ policy: policy([model('chat')]), holdStarts: true });
  const suspects = [world.request(), world.request()];
  world.finishStart();
  for (const id of suspects) world.end(id, RESET);
  world.advance(30_000);
  const back = world.started.find(
    ({ instance }, n) =>
      n > 0 && instance !== 'i1' && world.loop.state.instances.get(instance)?.placement === 'gpu',
  );
  assert.ok(back);
  const measured = { placement: 'gpu', ram: null, vram: null } as const;
  world.submit({ type: 'instance_ready', instance: back.instance, container: 'c', measured });
  for (const id of suspects) assert.equal(world.grantOf(id), undefined);
  assert.equal(world.grantOf(world.request())?.placement, 'gpu');
  world.finishStart();
  assert.equal(world.grantOf(suspects[0] ?? 0)?.placement, 'cpu');
});

test('a judged request is told before the controller ends, also where the instances stay', () => {
  const world = makeWorld({
    policy: policy([model('chat')], { shutdown: { instances: 'keep', graceMs: 25_000 } }),
    holdRemovals: true,
  });
  const id = world.request();
  world.end(id, RESET);
  world.end(id, RESET);
  assert.equal(world.refusalOf(id), undefined);
  world.submit({ type: 'shutdown' });
  const told = world.effects.findIndex(({ type }) => type === 'refuse');
  const stopped = world.effects.findIndex(({ type }) => type === 'stopped');
  assert.ok(stopped < 0 || (told >= 0 && told < stopped));
  world.finishRemoval();
  world.finishRemoval();
  world.advance(25_000);
  assert.ok(world.refusalOf(id) !== undefined);
});

test("a request that waits for a drill's end meets nothing of the drill's failure", () => {
  const gone: ExitEvidence = {
    ...DEAD,
    log: ['no such device: card0'],
    error: 'no such file or directory: /dev/dri/card0',
  };
  for (const placements of [['gpu'], ['gpu', 'cpu']] as const) {
    const world = makeWorld({
      policy: policy([model('chat', { placements: [...placements] })]),
      holdStarts: true,
      startFails: () => (world.started.length === 1 ? gone : null),
    });
    world.submit({ type: 'drill_began', id: 'd', scenario: 'gpu-gone', model: 'chat' });
    const own = world.request({ drill: true });
    const other = world.request();
    world.finishStart();
    assert.equal(world.refusalOf(other), undefined);
    const request = world.loop.state.requests.get(other);
    assert.deepEqual([...(request?.tried ?? [])], []);
    assert.equal(request?.lastFailure, null);
    const told = world.facts
      .filter(({ type }) => type === 'failover')
      .flatMap((fact) => fact.requestIds ?? []);
    assert.deepEqual(told.includes(`x${other}`), false);
    assert.equal(placements.length === 1 ? world.refusalOf(own) !== undefined : true, true);
  }
});

test('a warm standby is no room of the line: what it could serve is not counted in the wait', () => {
  const wait = (standby: 'cold' | 'warm') => {
    const profiles = { gpu: profile('chat', 'gpu'), cpu: profile('chat', 'cpu', { standby }) };
    const chat = model('chat', { profiles });
    const world = makeWorld({ policy: policy([chat]) });
    const id = world.request();
    world.advance(2_000);
    world.end(id);
    assert.equal(world.placements().length, standby === 'warm' ? 2 : 1);
    return expectedWaitMs(world.loop.state, chat, 3, world.now());
  };
  assert.equal(wait('warm'), wait('cold'));
});

describe('an instance that is to go anyway, and is frozen or killed under those who still run there', () => {
  const GOING: readonly [string, (world: World, first: number) => void][] = [
    [
      'by a command',
      (world) => world.submit({ type: 'command', id: 1, command: { do: 'unload', model: 'chat' } }),
    ],
    [
      'since its mode changed',
      (world) =>
        world.submit({
          type: 'configured',
          policy: policy([model('chat', { mode: 'cpu' })]),
          why: 'settings',
        }),
    ],
    ['since one of its requests failed', (world, first) => world.end(first, RESET)],
  ];
  const killing = { ...DEAD, running: true, exitCode: null, killedOutside: true };
  const HURT: readonly [string, Reason, (instance: string) => Input][] = [
    ['a pause', 'paused', (instance) => ({ type: 'instance_paused', instance })],
    ['a kill', 'killed_outside', (instance) => ({ type: 'instance_exited', instance, evidence: killing })],
  ];
  for (const [why, go] of GOING) {
    for (const [hurt, reason, input] of HURT) {
      test(`${hurt} of one that goes ${why} closes their connections, and they move on at once`, () => {
        const world = makeWorld({
          policy: policy([model('chat')]),
          evidence: () => ({ ...DEAD, running: hurt === 'a pause', killedOutside: hurt === 'a kill' }),
        });
        const [first, second] = [world.request(), world.request()];
        const instance = world.grantOf(second)?.instance ?? '';
        go(world, first);
        world.submit(input(instance));
        assert.ok(world.effects.some((one) => one.type === 'close_connections' && one.instance === instance));
        for (const id of [first, second]) if (world.grantOf(id)?.instance === instance) world.end(id, RESET);
        assert.equal(world.grantOf(second)?.placement, 'cpu');
        assert.equal(world.loop.state.requests.get(second)?.suspectOf, null);
        const told = world.facts.filter(({ type }) => type === 'backend_crashed' || type === 'failover');
        assert.deepEqual(
          told.map(({ type, reason: named }) => [type, named]),
          [
            ['backend_crashed', reason],
            ['failover', reason],
          ],
        );
      });
    }
  }
});
