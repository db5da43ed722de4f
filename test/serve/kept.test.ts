import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evolve } from '../../app/core/evolve.ts';
import type { StoredState } from '../../app/ports/store.ts';
import { keepTotals } from '../../app/serve/kept.ts';
import { manualClock } from '../support/clock.ts';
import { model, policy } from '../support/model.ts';
import { COMPLETED, makeWorld } from '../support/world.ts';

const TIMINGS = { promptTokens: 1000, promptMs: 500, tokens: 20, tokensMs: 1000, answerTokens: 20 };
type Kept = Partial<StoredState>;

function home() {
  const world = makeWorld({ policy: policy([model('chat')]) });
  const clock = manualClock();
  const updates: Kept[] = [];
  const end = keepTotals(world.loop, { update: (change: Kept) => void updates.push(change) }, clock);
  const answered = () =>
    world.submit({ type: 'attempt_ended', request: world.request(), outcome: COMPLETED, timings: TIMINGS });
  return { world, clock, updates, end, answered };
}

test('totals and what was learned of answers are kept together, a while after a request', () => {
  const { clock, updates, answered } = home();
  answered();
  answered();
  assert.deepEqual(updates, []);
  clock.advance(5_000);
  assert.deepEqual(updates, [
    {
      counters: { requests: 2, failed: 0, failovers: 0 },
      speeds: { 'chat-gpu': { prompt: 2000, generation: 20 } },
      answerTokens: { chat: 20 },
      reductions: {},
      raisedLimits: [],
    },
  ]);
});

test('a reduced profile is kept without any further request', () => {
  const { world, clock, updates } = home();
  const reduction = { parallel: 1, context: 2048, since: 7 };
  evolve(world.loop.state, { type: 'reduction_set', hash: 'chat-gpu', reduction });
  world.submit({ type: 'problem_seen', problem: { code: 'broker_failed', text: '', fix: '' } });
  clock.advance(5_000);
  assert.deepEqual(updates.at(-1)?.reductions, { 'chat-gpu': reduction });
  clock.advance(3_600_000);
  assert.equal(updates.length, 1);
});

test('a limit that was raised is kept without any further request', () => {
  const { world, clock, updates } = home();
  evolve(world.loop.state, { type: 'limit_raised', hash: 'chat-gpu' });
  world.submit({ type: 'problem_seen', problem: { code: 'broker_failed', text: '', fix: '' } });
  clock.advance(5_000);
  assert.deepEqual(updates.at(-1)?.raisedLimits, ['chat-gpu']);
  clock.advance(3_600_000);
  assert.equal(updates.length, 1);
});

test('at rest nothing is kept again', () => {
  const { world, clock, updates, answered } = home();
  answered();
  clock.advance(5_000);
  world.submit({ type: 'tick' });
  clock.advance(3_600_000);
  assert.equal(updates.length, 1);
});

test('the end keeps what is new', () => {
  const { updates, end, answered } = home();
  answered();
  end();
  assert.deepEqual(
    updates.map(({ speeds }) => speeds),
    [{ 'chat-gpu': { prompt: 2000, generation: 20 } }],
  );
});
