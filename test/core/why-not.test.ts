/** What a client hears when there is no instance for it: the code, the numbers, and when to come again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, Reason } from '../../app/core/types.ts';
import { whyNot } from '../../app/core/why-not.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

const on = (name: string, placement: 'gpu' | 'cpu', more: Partial<Model> = {}) =>
  model(name, { placements: [placement], profiles: { [placement]: profile(name, placement) }, ...more });
const why = (world: World, request: Parameters<World['request']>[0] = {}) =>
  world.refusalOf(world.request(request));

describe('a model that lacks memory', () => {
  /** `large` takes 10 of 14 GiB, `small` 6. */
  const world = (more: Partial<WorldOptions> = {}) =>
    makeWorld({
      policy: policy([on('large', 'cpu'), on('small', 'cpu')]),
      memory: host(15 * GIB, 16 * GIB),
      needOf: ({ file }) => need(file === 'large.gguf' ? 10 * GIB : 6 * GIB),
      ...more,
    });

  test('comes again when a request on another model is usually over', () => {
    const busy = world();
    const first = busy.request({ model: 'small' });
    busy.advance(12_000);
    busy.end(first);
    busy.request({ model: 'small' });
    const refused = why(busy, { model: 'large' });
    assert.equal(refused?.code, 'capacity');
    assert.match(refused?.message ?? '', /needs 10\.0 GiB, but only 8\.0 GiB/);
    assert.equal(refused?.retryAfter, 12);
  });

  test('comes again in half a minute where no model holds the memory', () => {
    assert.equal(why(world({ memory: host(4 * GIB, 16 * GIB) }), { model: 'large' })?.retryAfter, 30);
  });

  test('comes again when a better placement is tried again, if that is sooner', () => {
    const world = makeWorld({
      policy: policy([model('chat')], { failover: { resume: 'never', returnAfterMs: 7_000 } }),
      needOf: ({ gpu }) => need(gpu === null ? 15.5 * GIB : GIB, gpu === null ? 0 : GIB),
      memory: host(15 * GIB, 16 * GIB),
    });
    world.end(world.request(), RESET);
    // Its load took no time.
    assert.equal(why(world, { deadlineMs: 5_000 })?.retryAfter, 7);
  });

  test('never comes again where the whole machine has less', () => {
    const small = world({ needOf: () => need(16 * GIB + 1) });
    assert.equal(why(small, { model: 'large' })?.retryAfter, null);
    const whole = world({ needOf: () => need(16 * GIB) });
    assert.equal(why(whole, { model: 'large' })?.retryAfter, 30);
  });
});

describe('a model whose placements are out of service', () => {
  const failing = (log: string, more: Partial<Model> = {}) => {
    const world = makeWorld({
      policy: policy([model('chat', more)]),
      startFails: () => ({ ...DEAD, log: [log] }),
    });
    return { world, refused: why(world, { deadlineMs: 1_000 }) };
  };

  test('comes again for a reason that passes, with where, when, and what was said last', () => {
    const { refused } = failing('CUDA error: out of memory');
    assert.equal(refused?.code, 'capacity');
    assert.match(refused?.message ?? '', /^chat is out of service on gpu and cpu; tried again in 2 s\./);
    assert.match(refused?.message ?? '', /The last failure: .*CUDA error: out of memory/);
    // 2 s until the CPU is tried, 10 s for a load that was never measured.
    assert.equal(refused?.retryAfter, 12);
  });

  test('is the backend that failed for a reason that does not', () => {
    assert.equal(failing('error loading model').refused?.code, 'backend_failed');
  });

  test('says how long until the first of them is tried again', () => {
    const { world } = failing('error loading model');
    world.advance(501);
    assert.match(why(world)?.message ?? '', /tried again in 2 s/);
    world.advance(1_000);
    assert.match(why(world)?.message ?? '', /tried again in 1 s/);
  });
});

describe('a model without a placement', () => {
  test('says which mode allows none', () => {
    const world = makeWorld({ policy: policy([on('chat', 'gpu', { mode: 'cpu' })]) });
    const refused = why(world);
    assert.equal(refused?.code, 'capacity');
    assert.equal(refused?.message, 'chat has no placement that mode cpu allows on this machine.');
    assert.equal(refused?.retryAfter, null);
  });

  test('is being prepared while Docker is missing for long, and failed where its own file is', () => {
    const world = makeWorld({ policy: policy([model('chat')]) });
    world.submit({
      type: 'engine_unreachable',
      engine: 'local',
      problem: { code: 'docker_not_running', text: 'Docker does not run.', fix: 'Start it.' },
    });
    world.advance(60_000);
    const preparing = why(world);
    assert.equal(preparing?.code, 'preparing');
    assert.equal(preparing?.message, 'Docker does not run. Start it.');
    assert.equal(preparing?.retryAfter, 10);
    const other = makeWorld({ policy: policy([on('chat', 'cpu')]) });
    const problem = { code: 'model_file_missing', model: 'chat', text: 'No file.', fix: 'Copy it.' } as const;
    other.submit({ type: 'need_unknown', hash: 'chat-cpu', problem });
    assert.equal(why(other)?.code, 'backend_failed');
  });
});

describe('a model whose CPU is too slow', () => {
  /** 1000 tokens at 100 a second, 5 s left, on a CPU that is up; `out`: the GPU is out of service. */
  function told(out: boolean, serviceMs: number | null): ReturnType<typeof whyNot> {
    const world = makeWorld({ policy: policy([model('chat', { mode: 'cpu' })]) });
    for (const _ of [1, 2]) world.request();
    if (serviceMs === null) for (const id of [1, 2]) world.end(id);
    const { state } = world.loop;
    const request = state.requests.get(world.request());
    const own = state.models.get('chat');
    assert.ok(request && own);
    own.serviceMs.cpu = serviceMs ?? 0;
    own.loadSeconds.gpu = 3;
    state.speeds.set('chat-cpu', { prompt: 100, generation: 5 });
    const now = world.now();
    const outage = { placement: 'gpu', reason: 'reset', detail: null, since: now, failures: 1 } as const;
    if (out) own.outages.set('gpu', { ...outage, retryAt: now.mono + 7_000 });
    const hurried = { ...request, tokens: 1_000, ownDeadline: true, deadlineAt: now.mono + 5_000 };
    return whyNot(state, model('chat'), hurried, { kind: 'none', shortages: [], problems: [] }, now);
  }
  const speed = '1000 tokens to read at 100 a second, as measured. The request has 5 s left.';

  test('is told with the numbers, and no time to come again', () => {
    assert.deepEqual(told(false, null), {
      code: 'capacity',
      message: `The CPU would take about 10 s until the first word of chat: ${speed}`,
      retryAfter: null,
    });
  });

  test('is told with the wait for a place from a second on', () => {
    const first = (ms: number) => told(false, ms).message;
    assert.match(first(1_998), /^The CPU would take about 11 s until the first word of chat: 1000 tokens/);
    assert.match(
      first(2_000),
      /about 11 s until the first word of chat: 1 s until it has a place, then 1000/,
    );
  });

  test('is told with when the GPU is tried again, and to come when that is loaded', () => {
    const refused = told(true, null);
    assert.equal(
      refused.message.endsWith(`${speed} chat is out of service on gpu; tried again in 7 s.`),
      true,
    );
    assert.equal(refused.retryAfter, 10);
  });
});

test('one placement that is out for a passing reason is enough to come again', () => {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const now = world.now();
  const told = (gpu: Reason, cpu: Reason) => {
    for (const [placement, reason] of [['gpu', gpu] as const, ['cpu', cpu] as const]) {
      const outage = { placement, reason, detail: null, since: now, failures: 1, retryAt: now.mono + 7_000 };
      world.loop.state.models.get('chat')?.outages.set(placement, outage);
    }
    const none = { kind: 'none', shortages: [], problems: [] } as const;
    return whyNot(world.loop.state, model('chat'), null, none, now).code;
  };
  assert.deepEqual(
    [told('load_failed', 'reset'), told('reset', 'load_failed'), told('load_failed', 'load_failed')],
    ['capacity', 'capacity', 'backend_failed'],
  );
});
