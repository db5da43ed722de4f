import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInLanes } from '../../home/suite/lanes.ts';
import { fc } from '../../support/property.ts';

const job = fc.record({
  part: fc.constantFrom(null, 'a', 'b'),
  alone: fc.boolean(),
  turns: fc.nat({ max: 4 }),
});

test('each job runs once, no more at once than are allowed, and no two with the same part', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(job), fc.integer({ min: 1, max: 3 }), async (jobs, width) => {
      const running: (typeof jobs)[number][] = [];
      const done: typeof jobs = [];
      await runInLanes(jobs, width, async (one) => {
        assert.ok(one.part === null || running.every(({ part }) => part !== one.part));
        assert.ok(running.length === 0 || (!one.alone && running.every(({ alone }) => !alone)));
        running.push(one);
        assert.ok(running.length <= width);
        for (let turn = 0; turn < one.turns; turn += 1) await undefined;
        running.splice(running.indexOf(one), 1);
        done.push(one);
      });
      assert.equal(done.length, jobs.length);
      assert.deepEqual(new Set(done), new Set(jobs));
    }),
  );
});

test('a job that only waits for its part lets later ones pass', async () => {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const all = runInLanes(
    [
      { name: 'first', part: 'engine' },
      { name: 'second', part: 'engine' },
      { name: 'third', part: null },
    ],
    2,
    ({ name }) => {
      order.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    },
  );
  assert.deepEqual(order, ['first', 'third']);
  ends.get('first')?.();
  ends.get('third')?.();
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first', 'third', 'second']);
  ends.get('second')?.();
  await all;
});

test('what a job throws is thrown', async () => {
  await assert.rejects(
    runInLanes([{ part: null }], 2, async () => {
      throw new Error('no runner');
    }),
    /no runner/,
  );
});
