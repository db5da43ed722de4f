import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshot } from '../../app/core/snapshot.ts';
import { learned, readShare, type Timings, UNKNOWN_SPEED } from '../../app/core/speed.ts';
import { emptyState } from '../../app/core/state.ts';
import { model, policy } from '../support/model.ts';
import { COMPLETED, makeWorld, type World } from '../support/world.ts';

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

test('a speed is of sixteen tokens at least, with their time', () => {
  for (const [promptTokens, promptMs, prompt] of [
    [16, 1_000, 16],
    [15, 1_000, null],
    [16, null, null],
    [null, 1_000, null],
  ] as const)
    assert.equal(learned(UNKNOWN_SPEED, { ...NOTHING, promptTokens, promptMs }).prompt, prompt);
});

test('the share that is read is of what was read and what the cache had, sixteen tokens at least', () => {
  for (const [promptTokens, cachedTokens, share] of [
    [4, 12, 0.25],
    [4, 11, null],
    [100, 0, 1],
    [null, 100, null],
    [100, null, null],
    [100, undefined, null],
  ] as const) {
    const told = cachedTokens === undefined ? NOTHING : { ...NOTHING, cachedTokens };
    assert.equal(readShare({ ...told, promptTokens }), share);
  }
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

function view({ loop, now }: World) {
  const [seen] = snapshot(loop.state, now(), { seq: 0, version: '', iso: String }).models;
  return { tokensPerSecond: seen?.tokensPerSecond, answerTokens: seen?.answerTokens };
}

test('what was learned is in the view: speeds by placement, to a tenth, and the length by model', () => {
  const carried = { speeds: { 'chat-cpu': { prompt: 41.27, generation: null } } };
  const world = makeWorld({ policy: policy([model('chat')]), carried });
  const onCpu = { cpu: { prompt: 41.3, generation: null } };
  assert.deepEqual(view(world), { tokensPerSecond: onCpu, answerTokens: null });
  const timings = { promptTokens: 1000, promptMs: 3000, tokens: 200, tokensMs: 10_000, answerTokens: 200 };
  world.submit({ type: 'attempt_ended', request: world.request(), outcome: COMPLETED, timings });
  const both = { ...onCpu, gpu: { prompt: 333.3, generation: 20 } };
  assert.deepEqual(view(world), { tokensPerSecond: both, answerTokens: 200 });
});

test('the length of answers is a moving average of those that ended by themselves, over the placements', () => {
  const world = makeWorld({ policy: policy([model('chat'), model('other')]) });
  const answered = (answerTokens: number | null, name = 'chat', drill = false) => {
    if (drill) world.submit({ type: 'drill_began', id: 'd', scenario: 'kill', model: name });
    const request = world.request({ model: name, drill });
    const timings = { ...NOTHING, tokens: 5000, tokensMs: 1000, answerTokens };
    world.submit({ type: 'attempt_ended', request, outcome: COMPLETED, timings });
  };
  answered(null);
  assert.equal(world.loop.state.answerTokens.size, 0);
  answered(100);
  answered(200);
  answered(null);
  answered(7, 'other');
  assert.deepEqual(
    [...world.loop.state.answerTokens],
    [
      ['chat', 130],
      ['other', 7],
    ],
  );
  const onCpu = policy([model('chat', { mode: 'cpu' }), model('other')]);
  world.submit({ type: 'configured', policy: onCpu, why: 'settings' });
  answered(230);
  assert.equal(view(world).answerTokens, 160);
  assert.deepEqual([...world.loop.state.answerTokens.keys()], ['other', 'chat']);
  answered(9000, 'chat', true);
  assert.equal(view(world).answerTokens, 160);
});

test('lengths of the run before are known from the start', () => {
  const world = makeWorld({ policy: policy([model('chat')]), carried: { answerTokens: { chat: 87.6 } } });
  assert.equal(view(world).answerTokens, 88);
});
