import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FactBody } from '../../app/core/facts.ts';
import { makeLimiter } from '../../app/event-log/limiter.ts';
import { merge } from '../../app/event-log/merge.ts';
import { manualClock } from '../support/clock.ts';
import { fc } from '../support/property.ts';

const failed = (id: string): FactBody => ({
  type: 'request_failed',
  model: 'chat',
  requestId: id,
  code: 'capacity',
});

test('merged facts keep what they agree on, add their counts and join their requests', () => {
  const merged = merge({ ...failed('a'), count: 3 }, { ...failed('b'), model: 'other' });
  assert.deepEqual(merged, {
    type: 'request_failed',
    code: 'capacity',
    count: 4,
    requestId: 'a',
    requestIds: ['a', 'b'],
  });
  const ids = Array.from({ length: 30 }, (_, n) => `r${n}`);
  const all = ids.map(failed).reduce(merge);
  assert.equal(all.count, 30);
  assert.deepEqual(all.requestIds, ids.slice(0, 16));
});

test('at most 20 of a type are told in a second; the rest comes as one at its end', () => {
  const clock = manualClock();
  const late: FactBody[] = [];
  const limiter = makeLimiter(clock, 20, (facts) => late.push(...facts));
  const now = limiter.take(Array.from({ length: 50 }, (_, n) => failed(`r${n}`)));
  assert.equal(now.length, 20);
  assert.equal(limiter.take([{ type: 'gpu_lost' }]).length, 1, 'another type is not held back');
  clock.advance(999);
  assert.deepEqual(late, []);
  clock.advance(1);
  assert.deepEqual(
    late.map(({ count }) => count),
    [30],
  );
  assert.equal(limiter.take([failed('x')]).length, 1, 'a new second begins');
});

test('what is held is given out at the end', () => {
  const limiter = makeLimiter(manualClock(), 1, () => assert.fail('no timer rings after a flush'));
  limiter.take([failed('a'), failed('b'), failed('c')]);
  assert.deepEqual(
    limiter.flush().map(({ count }) => count),
    [2],
  );
  assert.deepEqual(limiter.flush(), []);
});

test('no fact is lost or counted twice, and no second tells more than the limit', () => {
  const step = fc.record({
    wait: fc.nat(700),
    type: fc.constantFrom('failover', 'recovered'),
    facts: fc.integer({ min: 1, max: 9 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const clock = manualClock();
      const out: { at: number; fact: FactBody }[] = [];
      const put = (facts: readonly FactBody[]) =>
        out.push(...facts.map((fact) => ({ at: clock.now().mono, fact })));
      const limiter = makeLimiter(clock, 5, put);
      let given = 0;
      for (const { wait, type, facts } of steps) {
        clock.advance(wait);
        put(limiter.take(Array.from({ length: facts }, () => ({ type: type as 'failover' | 'recovered' }))));
        given += facts;
      }
      put(limiter.flush());
      assert.equal(
        out.reduce((sum, { fact }) => sum + (fact.count ?? 1), 0),
        given,
      );
      for (const type of ['failover', 'recovered']) {
        const times = out.filter(({ fact }) => fact.type === type).map(({ at }) => at);
        // In any window of a second: what one second may tell, what it held, and the same of the next.
        for (const start of times)
          assert.ok(times.filter((at) => at >= start && at < start + 1000).length <= 11);
      }
    }),
  );
});
