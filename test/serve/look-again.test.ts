/** When the machine is looked at again: an engine that is back, and what is asked from within. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainersInput } from '../../app/ports.ts';
import { openEngines } from '../../app/serve/engines.ts';
import { seldom } from '../../app/serve/looks.ts';
import { manualClock } from '../support/clock.ts';

const REACHABLE = { type: 'engine_reachable', engine: 'local' } as const;

test('an engine that comes back asks for a look, one that is there at the start does not', async () => {
  const told: ContainersInput[] = [];
  let looks = 0;
  let report: (input: ContainersInput) => void = () => {};
  const open = async (to: typeof report) => {
    report = to;
    to(REACHABLE);
  };
  await openEngines(
    { open },
    (input) => told.push(input),
    () => (looks += 1),
  );
  assert.equal(looks, 0);
  report({
    type: 'engine_unreachable',
    engine: 'local',
    problem: { code: 'docker_failed', text: '', fix: '' },
  });
  assert.equal(looks, 0);
  report(REACHABLE);
  assert.equal(looks, 1);
  assert.deepEqual(
    told.map(({ type }) => type),
    ['engine_reachable', 'engine_unreachable', 'engine_reachable'],
  );
});

test('what is asked again and again is done at once, but seldom', () => {
  const clock = manualClock();
  let done = 0;
  const ask = seldom(clock, () => (done += 1));
  ask();
  ask();
  clock.advance(9_999);
  ask();
  assert.equal(done, 1);
  clock.advance(1);
  ask();
  assert.equal(done, 2);
});
