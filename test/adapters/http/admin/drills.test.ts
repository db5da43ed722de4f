/** Drills over the admin API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../../app/errors.ts';
import { drillReport, drillRound } from '../../../support/drill-report.ts';
import { ask, errorOf, startEdge } from '../../../support/edge.ts';
import { until } from '../../../support/until.ts';

const post = { method: 'POST', path: '/admin/drill', body: { scenario: 'kill', model: 'chat' } };

/** Waits until the edge has passed the request on. */
async function asked(drills: { readonly asked: readonly unknown[] }): Promise<void> {
  await until(() => drills.asked.length > 0);
}

test('the answer to a drill is its report, and it is listed afterwards', async (t) => {
  const { port, drills } = await startEdge(t);
  const answer = ask(port, post);
  await asked(drills);
  drills.finish(drillReport());
  assert.deepEqual((await answer).json(), drillReport());
  assert.deepEqual(drills.asked, [{ scenario: 'kill', model: 'chat' }]);
  const listed = await ask(port, { path: '/admin/drills' });
  assert.deepEqual(listed.json(), { reports: [drillReport()] });
});

test('with wait=0 the answer comes when it has begun, and what fails later does no harm', async (t) => {
  const { port, drills } = await startEdge(t);
  const answer = ask(port, { ...post, path: '/admin/drill?wait=0' });
  await asked(drills);
  drills.begin();
  assert.deepEqual([(await answer).status, (await answer).json()], [202, { seq: 0 }]);
  drills.finish(new AppError('internal', 'it broke off'));
  assert.equal((await ask(port, { path: '/healthz' })).status, 200);
});

test('a refusal is told with its code and status, waiting or not', async (t) => {
  for (const path of ['/admin/drill', '/admin/drill?wait=0']) {
    const { port, drills } = await startEdge(t);
    const answer = ask(port, { ...post, path });
    await asked(drills);
    drills.finish(new AppError('drill_refused', 'The GPU is in use.'));
    assert.deepEqual([(await answer).status, errorOf(await answer)['code']], [409, 'drill_refused']);
  }
});

test('a body without a scenario is refused by its key', async (t) => {
  const { port } = await startEdge(t);
  for (const body of [{}, { scenario: 1 }, { scenario: 'kill', modle: 'chat' }]) {
    const answer = await ask(port, { ...post, body });
    assert.equal(answer.status, 400);
    assert.match(errorOf(answer)['message'] ?? '', /scenario|modle/);
  }
});

const outside = drillReport({
  id: '0123abcd',
  scenario: 'controller-restart',
  others: { compared: 0, untouched: true, changed: [] },
  memoryLow: null,
  rounds: [
    drillRound({
      outcome: 'error',
      reason: null,
      from: null,
      to: null,
      cpuStart: null,
      checks: [{ name: 'answer', ok: true, text: 'The stream ended by an explicit error (capacity).' }],
    }),
  ],
});

test('the report of a drill that only the command line can run is kept beside the others', async (t) => {
  const { port } = await startEdge(t);
  const kept = await ask(port, { method: 'POST', path: '/admin/drills', body: outside });
  assert.equal(kept.status, 200);
  assert.deepEqual((await ask(port, { path: '/admin/drills' })).json(), { reports: [outside] });
});

test('no report of another drill is taken, nor one with what the page does not know', async (t) => {
  const { port } = await startEdge(t);
  const table: [object, RegExp][] = [
    [{ ...outside, scenario: 'kill' }, /scenario.*controller-restart/],
    [{ ...outside, id: '<b>' }, /id.*eight hexadecimal digits/],
    [{ ...outside, more: 1 }, /more/],
    [{ ...outside, why: 'x'.repeat(4_001) }, /why/],
  ];
  for (const [body, said] of table) {
    const answer = await ask(port, { method: 'POST', path: '/admin/drills', body });
    assert.equal(answer.status, 400);
    assert.match(errorOf(answer)['message'] ?? '', said);
  }
});
