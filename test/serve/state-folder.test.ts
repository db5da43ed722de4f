import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyState } from '../../app/core/state.ts';
import { makeLog } from '../../app/log.ts';
import { carriedOver, openStateFolder } from '../../app/serve/state-folder.ts';
import { manualClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temporary.ts';

test('what one run learned of profiles, the next one knows', async (t) => {
  const folder = await temporaryFolder(t);
  const open = () =>
    openStateFolder(folder, {
      clock: manualClock(),
      log: makeLog('silent'),
      sink: { problem: ({ text }) => assert.fail(text), problemGone: () => {} },
    });
  const learned = {
    counters: { requests: 3, failed: 1, failovers: 1 },
    speeds: { a: { prompt: 100, generation: 10 } },
    answerTokens: { chat: 180.5 },
    reductions: { b: { parallel: 1, context: 2048, since: 7 } },
    raisedLimits: ['c', 'd'],
  };
  const first = await open();
  first.store.update(learned);
  await first.store.flush();
  await first.events.close();
  const second = await open();
  t.after(() => second.events.close());
  const state = emptyState(carriedOver(second));
  assert.deepEqual(state.counters, learned.counters);
  assert.deepEqual(Object.fromEntries(state.speeds), learned.speeds);
  assert.deepEqual(Object.fromEntries(state.answerTokens), learned.answerTokens);
  assert.deepEqual(Object.fromEntries(state.reductions), learned.reductions);
  assert.deepEqual([...state.raisedLimits], learned.raisedLimits);
});
