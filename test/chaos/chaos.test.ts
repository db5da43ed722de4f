/** Two minutes of chaos; `npm run chaos -- --minutes N --seed S` runs longer and with another chance. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { report } from './report.ts';
import { runChaos } from './run.ts';

test('clients of every kind get one end each, whatever dies under them', async (context) => {
  const options = { minutes: 2, seed: Math.floor(Math.random() * 2 ** 31), clients: 20 };
  const run = await runChaos(options, () => {});
  const told = report(options, run);
  context.diagnostic(told);
  assert.deepEqual(run.findings, [], told);
  assert.ok(run.requests > options.clients && run.strikes.length > 10, told);
});
