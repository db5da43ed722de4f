/** When a request waits for a placement that is out of service, and what a load that fits nowhere says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World } from '../support/world.ts';

/** A GPU alone that takes 20 s to load, reads 100 tokens a second, and is tried again in 30 s. */
function gpuOut(): World {
  const only = model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } });
  const world = makeWorld({ policy: policy([only]), holdStarts: true });
  const first = world.request();
  world.advance(20_000);
  world.finishStart();
  const timings = { promptTokens: 100, promptMs: 1_000, tokens: null, tokensMs: null };
  world.submit({ type: 'attempt_ended', request: first, outcome: { kind: 'completed' }, timings });
  world.end(world.request(), RESET);
  return world;
}

const waits = (world: World, request: Parameters<World['request']>[0]): boolean =>
  world.refusalOf(world.request(request)) === undefined;

describe('a placement that is out of service is waited for', () => {
  test("when it is tried again, loaded, and has read the prompt within the client's deadline", () => {
    const world = gpuOut();
    // 30 s until it is tried again, 20 s for its load, 10 s for 1000 tokens.
    assert.equal(waits(world, { promptBytes: 4_000, deadlineMs: 60_001 }), true);
    assert.equal(waits(world, { promptBytes: 4_000, deadlineMs: 60_000 }), false);
  });

  test('without a time for reading where the length of the prompt is not known', () => {
    const world = gpuOut();
    assert.equal(waits(world, { deadlineMs: 50_001 }), true);
    assert.equal(waits(world, { deadlineMs: 50_000 }), false);
  });

  test('without a time for its load where none was measured', () => {
    const only = model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } });
    const world = makeWorld({
      policy: policy([only]),
      startFails: () => ({ ...DEAD, log: ['CUDA error: out of memory'] }),
    });
    assert.equal(waits(world, { deadlineMs: 30_001 }), true);
    assert.equal(waits(world, { deadlineMs: 30_000 }), false);
  });

  test('not when what it failed of is lasting', () => {
    const only = model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } });
    const world = makeWorld({
      policy: policy([only]),
      startFails: () => ({ ...DEAD, log: ['no such model'] }),
    });
    assert.equal(world.refusalOf(world.request())?.code, 'backend_failed');
  });

  test('not when it is the CPU, and too slow for the prompt', () => {
    const world = makeWorld({
      policy: policy([model('chat')]),
      startFails: ({ profile }) => (profile.placement === 'gpu' ? { ...DEAD, log: ['no such model'] } : null),
    });
    // 20 tokens a second.
    const timings = { promptTokens: 100, promptMs: 5_000, tokens: null, tokensMs: null };
    const first = world.request();
    world.submit({ type: 'attempt_ended', request: first, outcome: { kind: 'completed' }, timings });
    world.end(world.request(), RESET);
    assert.equal(waits(world, { promptBytes: 4_000 }), true, '50 s of the configured 300');
    const slow = world.refusalOf(world.request({ promptBytes: 30_000 }));
    assert.match(
      slow?.message ?? '',
      /about 377 s until the first word of chat: 2 s until it has a place, then 7500 tokens to read at 20 a second/,
    );
  });

  test('not when it never failed, and only lacks memory', () => {
    const world = makeWorld({ policy: policy([model('chat')]), needOf: () => need(30 * GIB, 30 * GIB) });
    assert.equal(world.refusalOf(world.request())?.code, 'capacity');
  });
});

describe('a load that fits nowhere', () => {
  const short = (keepLoaded: boolean) =>
    makeWorld({
      policy: policy([
        model('chat', { placements: ['cpu'], profiles: { cpu: profile('chat', 'cpu') }, keepLoaded }),
      ]),
      memory: host(8 * GIB),
      needOf: () => need(30 * GIB),
    });
  const refused = (world: World) => world.facts.filter(({ type }) => type === 'load_refused');

  test('says to the command what it needs and what there is', () => {
    const world = short(false);
    world.submit({ type: 'command', id: 1, command: { do: 'load', model: 'chat' } });
    assert.match(world.loop.state.models.get('chat')?.lastError ?? '', /needs 30\.0 GiB, but only/);
    assert.equal(world.loop.state.models.get('chat')?.wanted, null);
    assert.equal(refused(world).length, 1);
  });

  test('is tried again later and later for a model that is to be kept loaded, and told once', () => {
    const world = short(true);
    const outage = () => world.loop.state.models.get('chat')?.outages.get('cpu');
    assert.match(outage()?.detail ?? '', /^needs 30\.0 GiB, room \d+\.\d GiB$/);
    assert.equal(outage()?.reason, 'does_not_fit');
    assert.equal(outage()?.failures, 1);
    world.advance(2_000);
    assert.equal(outage()?.failures, 2);
    world.advance(4_000);
    assert.equal(outage()?.failures, 3);
    assert.equal(refused(world).length, 1);
    const [fact] = refused(world);
    assert.deepEqual([fact?.model, fact?.placement, fact?.need], ['chat', 'cpu', 30 * GIB]);
    world.setMemory(host(60 * GIB, 64 * GIB));
    world.advance(8_000);
    assert.deepEqual(world.placements(), ['cpu']);
  });
});
