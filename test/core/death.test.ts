/** Docker's word about an instance: what it means in each phase, and what becomes of the placement. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { model, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const chat = policy([model('chat')]);
const UNLOAD = { type: 'command', id: 1, command: { do: 'unload', model: 'chat' } } as const;

function home(more: Partial<WorldOptions> = {}): World {
  return makeWorld({ policy: chat, ...more });
}
const only = (world: World) => [...world.loop.state.instances.keys()][0] ?? '';
const exit = (world: World, evidence = DEAD) =>
  world.submit({ type: 'instance_exited', instance: only(world), evidence });
const outage = (world: World) => world.loop.state.models.get('chat')?.outages.get('gpu');
const crashes = (world: World) => world.facts.filter(({ type }) => type === 'backend_crashed');

test('an end that is told during a start or a removal is left to these', () => {
  const starting = home({ holdStarts: true });
  starting.request();
  exit(starting);
  starting.submit({ type: 'instance_paused', instance: only(starting) });
  assert.equal(starting.loop.state.instances.get(only(starting))?.phase.state, 'starting');
  const stopping = home({ holdRemovals: true });
  stopping.end(stopping.request());
  stopping.submit(UNLOAD);
  exit(stopping);
  stopping.submit({ type: 'instance_paused', instance: only(stopping) });
  assert.equal(stopping.loop.state.instances.get(only(stopping))?.phase.state, 'stopping');
  for (const world of [starting, stopping]) {
    assert.equal(crashes(world).length, 0);
    assert.equal(outage(world), undefined);
  }
});

test('what has ended is killed and removed, and not examined again', () => {
  const world = home();
  world.end(world.request());
  exit(world);
  const removal = world.effects.findLast((effect) => effect.type === 'remove_instance');
  assert.deepEqual([removal?.how, removal?.examine], ['kill', false]);
});

describe('an instance that is to go dies', () => {
  for (const [failure, reason] of [
    ['first_token_deadline', 'hang'],
    ['stall', 'stall'],
    ['frozen', 'frozen'],
  ] as const) {
    test(`after it failed: one failure, under the name of what it met first, ${reason}`, () => {
      const world = home({ holdRemovals: true });
      const [first] = [world.request(), world.request()];
      world.end(first, { kind: 'failed', failure: { kind: failure }, forwarded: 'nothing' });
      exit(world, { ...DEAD, exitCode: 137 });
      assert.equal(outage(world)?.failures, 1);
      assert.deepEqual(
        crashes(world).map((fact) => fact.reason),
        [reason],
      );
    });
  }

  test('after a command: it was no failure of its placement, and is told as an exit', () => {
    const world = home({ holdRemovals: true });
    world.request();
    world.submit(UNLOAD);
    exit(world);
    assert.equal(outage(world), undefined);
    assert.deepEqual(
      crashes(world).map(({ reason, detail }) => [reason, detail]),
      [['exit', 'exit code 139']],
    );
  });
});

test('the outage gets the better reason that the evidence shows, and keeps its time', () => {
  const line = 'ggml_vulkan: Device memory allocation of size 1024 failed';
  const world = home({ holdRemovals: true, evidence: () => ({ ...DEAD, log: [line] }) });
  world.end(world.request(), RESET);
  const before = outage(world);
  world.advance(1_000);
  world.finishRemoval();
  assert.deepEqual(outage(world), { ...before, reason: 'out_of_memory', detail: line });
});

test('an idle instance that its own limit killed has the limit raised', () => {
  const world = home();
  world.end(world.request());
  exit(world, { ...DEAD, oomKilled: true });
  assert.deepEqual([...world.loop.state.raisedLimits], ['chat-gpu']);
});

describe('a death is told', () => {
  const table: readonly [string, Partial<typeof DEAD>, readonly string[], string | undefined][] = [
    ['by itself', {}, ['backend_crashed'], 'exit code 139'],
    ['by somebody else', { killedOutside: true }, ['backend_crashed'], undefined],
    [
      'by its limit',
      { oomKilled: true },
      ['backend_crashed', 'out_of_memory'],
      'killed by its own memory limit',
    ],
    [
      'for lack of memory',
      { log: ['CUDA error: out of memory'] },
      ['backend_crashed', 'out_of_memory'],
      'CUDA error: out of memory',
    ],
    ['of the card', { log: ['ErrorDeviceLost'] }, ['backend_crashed', 'gpu_lost'], 'ErrorDeviceLost'],
    [
      'of a card that is away',
      { log: ['no usable GPU found'] },
      ['backend_crashed', 'gpu_lost'],
      'no usable GPU found',
    ],
  ];
  for (const [name, evidence, types, detail] of table) {
    test(`${name}: ${types.join(', ')}`, () => {
      const world = home();
      world.end(world.request());
      exit(world, { ...DEAD, ...evidence });
      const told = world.facts.slice(2).filter(({ type }) => type !== 'setting_changed');
      assert.deepEqual(
        told.map(({ type }) => type),
        types,
      );
      for (const fact of told) assert.equal(fact.detail, detail);
      for (const fact of told) assert.equal('detail' in fact, detail !== undefined);
    });
  }
});

describe('a failover is told', () => {
  const failover = (world: World) => world.facts.find(({ type }) => type === 'failover');

  test('with sixteen of its requests at most, their number, and the cause', () => {
    const profiles = { gpu: profile('chat', 'gpu', { parallel: 20 }), cpu: profile('chat', 'cpu') };
    const world = makeWorld({
      policy: policy([model('chat', { profiles })]),
      evidence: () => ({ ...DEAD, log: ['ErrorDeviceLost'] }),
    });
    const ids = Array.from({ length: 18 }, () => world.request());
    for (const id of ids) world.end(id, RESET);
    const fact = failover(world);
    assert.deepEqual([fact?.requestIds?.length, fact?.count, fact?.requestId], [16, 18, 'x1']);
    assert.deepEqual([fact?.reason, fact?.detail], ['gpu_lost', 'ErrorDeviceLost']);
  });

  test('with another placement than the one that failed, however soon that is tried again', () => {
    const failing = { resume: 'same-file', returnAfterMs: 0 } as const;
    const world = makeWorld({ policy: policy([model('chat')], { failover: failing }) });
    world.end(world.request(), RESET);
    assert.equal(failover(world)?.to, 'cpu');
  });

  test('not where there is no other one in service', () => {
    const world = home();
    const id = world.request();
    const cpu = { placement: 'cpu', reason: 'reset', detail: null, since: world.now() } as const;
    world.loop.state.models.get('chat')?.outages.set('cpu', { ...cpu, retryAt: Infinity, failures: 1 });
    world.end(id, RESET);
    assert.equal(failover(world), undefined);
  });
});
