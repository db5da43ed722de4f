import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learned, type Timings, UNKNOWN_SPEED } from '../../app/core/speed.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy } from '../support/model.ts';
import { COMPLETED, makeWorld } from '../support/world.ts';

const NOTHING: Timings = { promptTokens: null, promptMs: null, tokens: null, tokensMs: null };

test('a speed is learned from enough tokens only, and later answers move it', () => {
  const short = learned(UNKNOWN_SPEED, { promptTokens: 3, promptMs: 1000, tokens: 100, tokensMs: 1000 });
  assert.deepEqual(short, { prompt: null, generation: 100 });
  const first = learned(short, { ...NOTHING, promptTokens: 1000, promptMs: 1000 });
  assert.deepEqual(first, { prompt: 1000, generation: 100 });
  assert.equal(learned(first, { ...NOTHING, promptTokens: 2000, promptMs: 1000 }).prompt, 1300);
  assert.equal(learned(first, NOTHING), first);
  assert.equal(learned(first, { ...NOTHING, promptTokens: 2000, promptMs: 0 }), first);
});

test('an answer teaches the speed of the profile that it ran on', () => {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const timings = { promptTokens: 1000, promptMs: 500, tokens: 20, tokensMs: 1000 };
  world.submit({ type: 'attempt_ended', request: world.request(), outcome: COMPLETED, timings });
  assert.deepEqual([...world.loop.state.speeds], [['chat-gpu', { prompt: 2000, generation: 20 }]]);
  const id = world.request();
  world.submit({
    type: 'attempt_ended',
    request: id,
    outcome: { kind: 'client_gone', finished: true },
    timings,
  });
  assert.equal(world.loop.state.speeds.get('chat-gpu')?.prompt, 2000);
});

test('speeds of the run before are known from the start', () => {
  const state = emptyState({ speeds: { 'chat-cpu': { prompt: 40, generation: 8 } } });
  assert.deepEqual(state.speeds.get('chat-cpu'), { prompt: 40, generation: 8 });
});
