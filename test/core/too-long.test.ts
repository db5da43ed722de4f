/** Prompts that are too long: when they are counted, where they go, what is said of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Forwarded, Outcome } from '../../app/core/request.ts';
import { tooLong, tooLongProblem } from '../../app/core/too-long-words.ts';
import { model, policy, profile } from '../support/model.ts';
import { makeWorld, RESET, type World } from '../support/world.ts';

/** The GPU takes prompts of fewer than 2048 tokens, the CPU of fewer than 8192; one at a time. */
const contexts = (gpu = 2048, cpu = 8192) =>
  policy([
    model('chat', {
      profiles: {
        gpu: profile('chat', 'gpu', { context: gpu, parallel: 1 }),
        cpu: profile('chat', 'cpu', { context: cpu, parallel: 1 }),
      },
    }),
  ]);

const overflow = (tokens: number, forwarded: Forwarded = 'nothing'): Outcome => {
  const failure = {
    kind: 'http',
    status: 400,
    message: 'too long',
    overflow: { tokens, context: 2048 },
  } as const;
  return { kind: 'failed', failure, forwarded };
};
const codes = (world: World) => [...world.loop.state.problems.values()].map(({ code }) => code);
const counted = (world: World) =>
  world.effects.flatMap((effect) => (effect.type === 'count_tokens' ? [effect.request] : []));

describe('a waiting prompt is counted', () => {
  test('where there is a second left for it, and not with less', () => {
    for (const [deadlineMs, isCounted] of [
      [1_000, true],
      [999, false],
    ] as const) {
      const world = makeWorld({ policy: contexts(), tokensOf: () => undefined });
      world.request();
      const id = world.request({ promptBytes: 12_000, deadlineMs });
      assert.deepEqual(counted(world), isCounted ? [id] : []);
    }
  });

  test('where its bytes may be as many tokens as the smallest context has, and not with fewer', () => {
    for (const [promptBytes, isCounted] of [
      [4_096, true],
      [4_094, false],
    ] as const) {
      const world = makeWorld({ policy: contexts(), tokensOf: () => undefined });
      world.request();
      world.request({ promptBytes });
      assert.equal(counted(world).length, isCounted ? 1 : 0);
    }
  });

  test('not where its length is not to be known', () => {
    const world = makeWorld({ policy: contexts(), tokensOf: () => undefined });
    world.request();
    world.request();
    assert.deepEqual(counted(world), []);
  });

  test('not where the CPU is too slow for it, but the GPU is coming back', () => {
    const world = makeWorld({ policy: contexts(8192, 8192), tokensOf: () => undefined, holdStarts: true });
    const id = world.request();
    world.finishStart();
    world.end(id, RESET);
    world.finishStart();
    assert.equal(world.grantOf(id)?.placement, 'cpu');
    const timings = { promptTokens: 100, promptMs: 5_000, cachedTokens: null, tokens: null, tokensMs: null };
    world.submit({ type: 'attempt_ended', request: id, outcome: { kind: 'completed' }, timings });
    world.advance(30_000);
    assert.deepEqual(world.placements(), ['cpu', 'gpu']);
    // 2000 tokens would take 100 s.
    const waits = world.request({ promptBytes: 8_000, deadlineMs: 60_000 });
    assert.deepEqual(counted(world), []);
    world.finishStart();
    assert.equal(world.grantOf(waits)?.placement, 'gpu');
  });
});

describe('a prompt that an instance refused as too long', () => {
  test('keeps its turn where it fits, is no service, and no problem', () => {
    const world = makeWorld({ policy: contexts(), holdStarts: true });
    const id = world.request();
    world.finishStart();
    world.end(id, overflow(3000));
    const phase = world.loop.state.requests.get(id)?.phase;
    assert.equal(phase?.phase === 'waiting' && phase.head, true);
    assert.deepEqual(world.loop.state.models.get('chat')?.serviceMs, {});
    assert.deepEqual(codes(world), []);
  });

  test('goes nowhere else where some of its answer is out', () => {
    for (const forwarded of ['content', 'more'] as const) {
      const world = makeWorld({ policy: contexts() });
      const id = world.request({ neverReplay: true });
      world.end(id, overflow(3000, forwarded));
      assert.equal(world.loop.state.requests.get(id)?.phase.phase, undefined);
    }
  });
});

test('a prompt that fits nowhere is a problem also where it was refused in its line', () => {
  const world = makeWorld({ policy: contexts(2048, 2048), tokensOf: () => 2048 });
  world.request();
  world.request({ promptBytes: 9_000 });
  assert.deepEqual(codes(world), ['context_exceeded']);
});

describe('of a prompt that fits nowhere', () => {
  const home = () => structuredClone(makeWorld({ policy: contexts() }).loop.state);
  const asked = { tokens: 9_000, context: 8192 };

  test("it is said in llama-server's words that it is too long, and what helps", () => {
    const message =
      'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it';
    const refusal = { code: 'context_exceeded', message, retryAfter: null, overflow: asked };
    assert.deepEqual(tooLong(home(), 'chat', asked), refusal);
    assert.deepEqual(tooLongProblem(home(), 'chat', asked), {
      code: 'context_exceeded',
      model: 'chat',
      text: 'A request to chat has 9000 tokens, and chat takes fewer than 8192.',
      fix: 'Set models.chat.context to at least 10240, or models.chat.cpu.context for the CPU alone, or send less.',
      params: { tokens: 9_000, context: 8192, wanted: 10_240 },
    });
  });

  test('it is said that a restart helps, where the largest context was cut down', () => {
    const state = home();
    state.configured = contexts(2048, 16_384);
    assert.match(tooLong(state, 'chat', asked).message, /restart chat for the configured 16384 tokens$/);
    assert.equal(tooLongProblem(state, 'chat', asked).params?.['whole'], 16_384);
    assert.equal(
      tooLongProblem(state, 'chat', asked).fix,
      'Restart chat to go back to the configured 16384 tokens: it was cut down after the GPU ran out of memory. Or send less.',
    );
  });

  test('nothing of a restart is said of a model that is no more', () => {
    const state = home();
    state.configured = policy([]);
    assert.match(tooLong(state, 'chat', asked).message, /try increasing it$/);
  });
});
