/** Two minutes of the same chaos each time; `npm run chaos -- --minutes N --seed S` runs longer, and with another chance. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { report } from './report.ts';
import { runChaos } from './run.ts';

/** Longer than a run gives itself: it says what is unfinished. */
const LIMIT = { timeout: 20 * 60_000 };
const SEED = 1;
/** For handles to close by themselves after a run that failed. */
const EXIT_MS = 10_000;

after(() => setTimeout(() => process.exit(), EXIT_MS).unref());

test('clients of every kind get one end each, whatever dies under them', LIMIT, async (context) => {
  const options = { minutes: 2, seed: SEED, clients: 20, evidence: null };
  const run = await runChaos(options, () => {});
  const told = report(options, run);
  context.diagnostic(told);
  assert.deepEqual(run.findings, [], told);
  assert.ok(run.requests > options.clients && run.strikes.length > 5, told);
});
