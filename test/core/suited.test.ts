/** Which placement a request can take: by the length of its prompt, and by the time that the CPU would need. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Outcome } from '../../app/core/request.ts';
import type { Timings } from '../../app/core/speed.ts';
import type { Mode, Policy } from '../../app/core/types.ts';
import { GIB, host, model, need, policy, profile } from '../support/model.ts';
import { fc } from '../support/property.ts';
import { DEAD, makeWorld, RESET, type World, type WorldOptions } from '../support/world.ts';

/** The GPU takes prompts of fewer than 2048 tokens, the CPU of fewer than 8192. */
function contexts(gpu = 2048, cpu = 8192, mode: Mode = 'auto', parallel = 1): Policy {
  const profiles = {
    gpu: profile('chat', 'gpu', { context: gpu, parallel }),
    cpu: profile('chat', 'cpu', { context: cpu, parallel }),
  };
  return policy([model('chat', { profiles, mode })]);
}

function overflow(tokens: number, context: number): Outcome {
  const failure = { kind: 'http', status: 400, message: 'too long', overflow: { tokens, context } } as const;
  return { kind: 'failed', failure, forwarded: 'nothing' };
}

const problems = (world: World) => [...world.loop.state.problems.values()];

describe('a prompt that is too long for the GPU', () => {
  test('goes to the CPU when the GPU has refused it, as its first attempt', () => {
    const world = makeWorld({ policy: contexts() });
    const id = world.request();
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    world.end(id, overflow(3000, 2048));
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    assert.equal(world.grantOf(id)?.attempt, 1);
    assert.deepEqual(
      world.factTypes().filter((type) => /fail|crash/.test(type)),
      [],
    );
    assert.equal(world.loop.state.models.get('chat')?.outages.size, 0);
  });

  test('is not sent again to an instance that takes less than it was started for', () => {
    const world = makeWorld({ policy: contexts(8192, 8192) });
    const id = world.request();
    // llama-server takes no more than the model was trained for, whatever is configured.
    world.end(id, overflow(3000, 2048));
    assert.equal(world.grantOf(id), undefined);
    assert.equal(world.effects.at(-1)?.type, 'pass_on');
    assert.equal(world.loop.state.requests.size, 0);
  });

  test('goes there also where it is not to be replayed: nothing was processed', () => {
    const world = makeWorld({ policy: contexts() });
    const id = world.request({ neverReplay: true });
    world.end(id, overflow(3000, 2048));
    assert.equal(world.grantOf(id)?.placement, 'cpu');
  });

  test('is counted while it waits, and need not wait for the GPU', () => {
    const world = makeWorld({ policy: contexts(), tokensOf: () => 3000 });
    const first = world.request();
    const long = world.request({ promptBytes: 12_000 });
    assert.equal(world.grantOf(first)?.placement, 'gpu');
    assert.equal(world.grantOf(long)?.placement, 'cpu');
  });

  test('is not counted where its bytes show that it fits, nor where it is granted at once', () => {
    const world = makeWorld({ policy: contexts(), tokensOf: () => 3000 });
    world.request({ promptBytes: 12_000 });
    world.request({ promptBytes: 4_000 });
    assert.equal(
      world.effects.some(({ type }) => type === 'count_tokens'),
      false,
    );
  });

  test('is counted by one instance at a time, and goes on when that never answers', () => {
    const world = makeWorld({ policy: contexts(), tokensOf: () => undefined });
    const first = world.request();
    const [a, b] = [world.request({ promptBytes: 12_000 }), world.request({ promptBytes: 12_000 })];
    const asked = () => world.effects.filter(({ type }) => type === 'count_tokens').length;
    assert.equal(asked(), 1);
    world.end(first);
    assert.ok(world.grantOf(a), 'counting holds nobody up');
    world.end(a);
    world.submit({ type: 'tokens_counted', request: a, tokens: 5 });
    assert.ok(world.grantOf(b));
  });

  test('starts the CPU where nothing runs and its bytes say that it is probably too long', () => {
    const world = makeWorld({ policy: contexts() });
    assert.equal(world.grantOf(world.request({ promptBytes: 16_000 }))?.placement, 'cpu');
    const short = makeWorld({ policy: contexts() });
    assert.equal(short.grantOf(short.request({ promptBytes: 6_000 }))?.placement, 'gpu');
  });

  test('keeps the CPU, since the GPU cannot take its place', () => {
    const world = makeWorld({ policy: contexts() });
    const id = world.request();
    world.end(id, overflow(3000, 2048));
    world.end(id);
    assert.deepEqual(world.placements(), ['gpu', 'cpu']);
  });

  test('waits for the CPU where that may be back in time, and never for the GPU', () => {
    const world = makeWorld({ policy: contexts() });
    const id = world.request();
    world.end(id, overflow(3000, 2048));
    world.end(id, RESET);
    assert.equal(world.grantOf(id), undefined);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(2_000);
    assert.equal(world.grantOf(id)?.placement, 'cpu');
  });
});

describe('a prompt that is too long for all', () => {
  test("is the backend's own answer, and the page says what context it would take", () => {
    const world = makeWorld({ policy: contexts() });
    const id = world.request();
    world.end(id, overflow(9000, 2048));
    assert.ok(world.effects.some((effect) => effect.type === 'pass_on' && effect.request === id));
    const [problem] = problems(world);
    assert.equal(problem?.code, 'context_exceeded');
    assert.deepEqual(problem?.params, { tokens: 9000, context: 2048, wanted: 10_240 });
    assert.match(problem?.fix ?? '', /at least 10240/);
  });

  test("is refused in llama-server's form while it waits", () => {
    const world = makeWorld({ policy: contexts(2048, 2048), tokensOf: () => 2048 });
    world.request();
    const refused = world.refusalOf(world.request({ promptBytes: 9_000 }));
    assert.equal(refused?.code, 'context_exceeded');
    assert.deepEqual(refused?.overflow, { tokens: 2048, context: 2048 });
  });

  test('counts only placements that the mode allows', () => {
    const world = makeWorld({ policy: contexts(2048, 8192, 'gpu') });
    const id = world.request();
    world.end(id, overflow(3000, 2048));
    assert.ok(world.effects.some((effect) => effect.type === 'pass_on' && effect.request === id));
  });

  test('of a GPU that was reduced asks for a restart of the model, which then takes it', () => {
    const OOM = { ...DEAD, exitCode: 134, log: ['CUDA error: out of memory'] };
    const reduced = (gpu: number): World => {
      const profiles = { gpu: profile('chat', 'gpu', { context: gpu, parallel: 1 }) };
      const world = makeWorld({
        policy: policy([model('chat', { placements: ['gpu'], profiles, idleUnloadMs: null })]),
        evidence: () => OOM,
        tokensOf: () => 5000,
      });
      const first = world.request();
      world.end(first, RESET);
      world.advance(30_000);
      world.end(first);
      assert.equal(world.loop.state.policy?.models.get('chat')?.profiles.gpu?.context, gpu / 2);
      return world;
    };
    const helps = reduced(8192);
    const ran = helps.request();
    helps.end(ran, overflow(5000, 4096));
    const running = helps.request();
    const waited = helps.request({ promptBytes: 20_000 });
    for (const id of [ran, waited]) {
      const refused = helps.refusalOf(id);
      assert.equal(refused?.code, 'context_exceeded');
      assert.deepEqual(refused?.overflow, { tokens: 5000, context: 4096 });
      assert.match(
        refused?.message ?? '',
        /^request \(5000 tokens\) exceeds the available context size \(4096 tokens\).*restart chat.*8192/i,
      );
      assert.doesNotMatch(refused?.message ?? '', /increas/);
    }
    const [problem] = problems(helps);
    assert.match(problem?.fix ?? '', /Restart chat/);
    assert.doesNotMatch(problem?.fix ?? '', /context to at least/);
    assert.deepEqual(problem?.params, { tokens: 5000, context: 4096, wanted: 6144, whole: 8192 });
    helps.end(running);
    helps.submit({ type: 'command', id: 1, command: { do: 'restart', model: 'chat' } });
    assert.deepEqual(problems(helps), []);
    assert.ok(helps.grantOf(helps.request({ promptBytes: 20_000 })));
    assert.equal(helps.loop.state.requests.size, 1);

    const not = reduced(4096);
    not.end(not.request(), overflow(5000, 2048));
    assert.match(problems(not)[0]?.fix ?? '', /context to at least 6144/);
    assert.equal(not.effects.at(-1)?.type, 'pass_on');
  });

  test('is no problem any more after an hour, or with a larger context', () => {
    for (const solve of [
      (world: World) => world.advance(3_600_000),
      (world: World) => world.submit({ type: 'configured', policy: contexts(16_384, 8192), why: 'reload' }),
    ]) {
      const world = makeWorld({ policy: contexts() });
      world.end(world.request(), overflow(9000, 2048));
      assert.equal(problems(world).length, 1);
      solve(world);
      assert.deepEqual(problems(world), []);
    }
  });
});

const timings = (promptTokens: number, seconds: number, cachedTokens: number | null = null): Timings => ({
  promptTokens,
  promptMs: seconds * 1000,
  cachedTokens,
  tokens: null,
  tokensMs: null,
});

/** The GPU is out of service; the CPU has read 20 tokens a second. */
function gpuOut(more: Partial<WorldOptions> = {}, told = timings(100, 5)): World {
  const world = makeWorld({ policy: contexts(8192, 8192, 'auto', 2), ...more });
  const id = world.request();
  world.end(id, RESET);
  assert.equal(world.grantOf(id)?.placement, 'cpu');
  world.submit({ type: 'attempt_ended', request: id, outcome: { kind: 'completed' }, timings: told });
  return world;
}

describe('a CPU that is too slow', () => {
  test('is not taken: the request waits for the GPU that may be back in time', () => {
    const world = gpuOut();
    // 2000 tokens take 100 s.
    const id = world.request({ promptBytes: 8_000, deadlineMs: 60_000 });
    assert.equal(world.grantOf(id), undefined);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(30_000);
    assert.equal(world.grantOf(id)?.placement, 'gpu');
  });

  test('ends the request with its numbers where the GPU is not back in time', () => {
    const world = gpuOut();
    const refused = world.refusalOf(world.request({ promptBytes: 8_000, deadlineMs: 20_000 }));
    assert.equal(refused?.code, 'capacity');
    assert.match(refused?.message ?? '', /about 100 s .* 2000 tokens .* 20 a second.* 20 s left/);
    assert.match(refused?.message ?? '', /out of service on gpu; tried again in 30 s/);
    assert.ok((refused?.retryAfter ?? 0) >= 30);
  });

  test('is taken where it is in time, or its speed is not known', () => {
    const known = gpuOut();
    assert.equal(known.grantOf(known.request({ promptBytes: 8_000, deadlineMs: 101_000 }))?.placement, 'cpu');
    const unknown = gpuOut({}, timings(2, 1));
    assert.equal(
      unknown.grantOf(unknown.request({ promptBytes: 8_000, deadlineMs: 9_000 }))?.placement,
      'cpu',
    );
  });

  test('is judged by the counted tokens where they decide', () => {
    const world = gpuOut({ tokensOf: () => 150 });
    assert.equal(world.grantOf(world.request({ promptBytes: 8_000, deadlineMs: 20_000 }))?.placement, 'cpu');
  });

  test('is judged by its bytes where there is no time to count', () => {
    const world = gpuOut({ tokensOf: () => undefined });
    for (const promptBytes of [8_000, 30_000])
      assert.equal(world.refusalOf(world.request({ promptBytes, deadlineMs: 900 }))?.code, 'capacity');
  });

  test('is faster where its prompt cache has most of what it is asked', () => {
    // A tenth of the prompt was read: 2000 tokens take 10 s.
    const world = gpuOut({}, timings(100, 5, 900));
    assert.equal(world.grantOf(world.request({ promptBytes: 8_000, deadlineMs: 20_000 }))?.placement, 'cpu');
  });

  test('goes on all the same with a text whose first content was in time', () => {
    const world = gpuOut();
    world.advance(30_000);
    const id = world.request({ promptBytes: 8_000, deadlineMs: 60_000 });
    assert.equal(world.grantOf(id)?.placement, 'gpu');
    world.end(id, { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'content' });
    assert.equal(world.grantOf(id)?.placement, 'cpu');
  });

  test('is judged by the configured deadline only where it stands in for the GPU', () => {
    const world = gpuOut();
    const waits = world.request({ promptBytes: 30_000 });
    assert.equal(world.grantOf(waits), undefined, '375 s are more than the configured 300');
    const alone = makeWorld({ policy: contexts(8192, 8192, 'cpu', 2) });
    const first = alone.request();
    alone.submit({
      type: 'attempt_ended',
      request: first,
      outcome: { kind: 'completed' },
      timings: timings(100, 5),
    });
    assert.equal(alone.grantOf(alone.request({ promptBytes: 30_000 }))?.placement, 'cpu');
    assert.equal(
      alone.refusalOf(alone.request({ promptBytes: 8_000, deadlineMs: 20_000 }))?.code,
      'capacity',
    );
  });

  test('counts the wait for one of its slots', () => {
    const world = gpuOut();
    const earlier = world.request();
    world.advance(10_000);
    world.end(earlier);
    const short = { promptBytes: 400, deadlineMs: 6_000 };
    assert.equal(world.grantOf(world.request(short))?.placement, 'cpu');
    assert.equal(world.grantOf(world.request(short))?.placement, 'cpu');
    // Services took 0 and 10 s, 3 s as a moving average: 1.5 s until one of two slots, and 5 s to read.
    assert.equal(world.refusalOf(world.request(short))?.code, 'capacity');
  });
});

describe('a CPU that lacks memory', () => {
  const large: Partial<WorldOptions> = {
    policy: contexts(8192, 8192, 'auto', 2),
    memory: host(8 * GIB),
    needOf: ({ gpu }) => (gpu === null ? need(30 * GIB) : need(GIB, GIB)),
  };

  test('leaves the request waiting for the GPU that may be back in time', () => {
    const world = makeWorld({ policy: contexts(), ...large });
    const id = world.request();
    world.end(id, RESET);
    assert.equal(world.refusalOf(id), undefined);
    world.advance(30_000);
    assert.equal(world.grantOf(id)?.placement, 'gpu');
  });

  test('ends it with need and room where the GPU is not back in time', () => {
    const world = makeWorld({ policy: contexts(), ...large });
    const id = world.request({ deadlineMs: 20_000 });
    world.end(id, RESET);
    const refused = world.refusalOf(id);
    assert.equal(refused?.code, 'capacity');
    assert.match(refused?.message ?? '', /needs 30\.0 GiB, but only/);
    assert.ok(world.factTypes().includes('load_refused'));
  });
});

test('without a CPU the request waits for the GPU in time, else it ends with capacity', () => {
  const only = policy([model('chat', { placements: ['gpu'], profiles: { gpu: profile('chat', 'gpu') } })]);
  const world = makeWorld({ policy: only });
  const patient = world.request();
  const hurried = world.request({ deadlineMs: 10_000 });
  world.end(patient, RESET);
  world.end(hurried, RESET);
  assert.equal(world.refusalOf(hurried)?.code, 'capacity');
  assert.equal(world.refusalOf(hurried)?.retryAfter, 30);
  world.advance(30_000);
  assert.equal(world.grantOf(patient)?.placement, 'gpu');
});

test('no prompt that was counted is ever granted where it does not fit', () => {
  const sizes = fc.record({ tokens: fc.integer({ min: 1, max: 12_000 }), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(sizes, { maxLength: 20 }), (requests) => {
      const tokens = new Map<number, number>();
      const world = makeWorld({ policy: contexts(), tokensOf: (id) => tokens.get(id) });
      for (const [index, one] of requests.entries()) {
        tokens.set(index + 1, one.tokens);
        world.request({ promptBytes: one.tokens * 4 });
        if (!one.ends) continue;
        const runs = [...world.loop.state.requests.values()].find(({ phase }) => phase.phase === 'running');
        if (runs !== undefined) world.end(runs.id);
      }
      for (const request of world.loop.state.requests.values()) {
        if (request.phase.phase !== 'running' || request.tokens === null) continue;
        assert.ok(request.tokens < (request.phase.placement === 'gpu' ? 2048 : 8192));
      }
    }),
  );
});
