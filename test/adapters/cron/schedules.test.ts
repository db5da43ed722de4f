import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schedules } from '../../../app/adapters/cron/schedules.ts';
import { manualClock } from '../../support/clock.ts';

const HOUR = 3_600_000;

/** The clock starts on 2026-01-01 at midnight, UTC. */
function home() {
  const clock = manualClock();
  const ran: string[] = [];
  let skew = 0;
  const skewed = { ...clock, now: () => ({ mono: clock.now().mono, wall: clock.now().wall + skew }) };
  const late: number[] = [];
  const jump = (ms: number): void => {
    skew += ms;
  };
  const all = schedules<{ readonly cron: string; readonly name: string }>({
    clock: skewed,
    run: ({ name }) => void ran.push(`${new Date(skewed.now().wall).toISOString().slice(5, 16)} ${name}`),
    tooLate: (_, ms) => void late.push(ms),
  });
  return { clock, ran, all, late, jump };
}

test('each line runs at its times, in the order of time', () => {
  const { clock, ran, all } = home();
  all.set(
    [
      { cron: '0 7 * * *', name: 'load' },
      { cron: '0 2,23 * * *', name: 'unload' },
    ],
    'UTC',
  );
  clock.advance(49 * HOUR);
  assert.deepEqual(ran, [
    '01-01T02:00 unload',
    '01-01T07:00 load',
    '01-01T23:00 unload',
    '01-02T02:00 unload',
    '01-02T07:00 load',
    '01-02T23:00 unload',
  ]);
});

test('a zone moves the times; the same lines again change nothing, others take the place of the old', () => {
  const { clock, ran, all } = home();
  const lines = [{ cron: '0 9 * * *', name: 'a' }];
  all.set(lines, 'Asia/Seoul');
  const alarms = clock.alarms();
  all.set([...lines], 'Asia/Seoul');
  assert.equal(clock.alarms(), alarms);
  clock.advance(24 * HOUR);
  all.set([{ cron: '0 9 * * *', name: 'b' }], 'UTC');
  clock.advance(24 * HOUR);
  assert.deepEqual(ran, ['01-02T00:00 a', '01-02T09:00 b']);
  all.set([], 'UTC');
  assert.equal(clock.alarms(), 0);
});

test('a wall clock that was set right moves the next run', () => {
  const { clock, ran, all, jump } = home();
  all.set([{ cron: '0 12 * * *', name: 'noon' }], 'UTC');
  jump(-2 * HOUR);
  clock.advance(13 * HOUR);
  assert.deepEqual(ran, []);
  clock.advance(2 * HOUR);
  assert.deepEqual(ran, ['01-01T12:00 noon']);
});

test('a run that was slept through is made up for within the hour, later it is told', () => {
  const { clock, ran, all, late, jump } = home();
  all.set([{ cron: '0 12 * * *', name: 'noon' }], 'UTC');
  clock.advance(11.5 * HOUR);
  jump(HOUR);
  clock.advance(HOUR);
  assert.equal(ran.length, 1);
  clock.advance(22 * HOUR);
  jump(5 * HOUR);
  clock.advance(HOUR);
  assert.equal(ran.length, 1);
  assert.ok((late[0] ?? 0) > HOUR);
  clock.advance(24 * HOUR);
  assert.equal(ran.length, 2);
});

test('the end cancels all', () => {
  const { clock, ran, all } = home();
  all.set([{ cron: '* * * * *', name: 'x' }], 'UTC');
  all.stop();
  clock.advance(HOUR);
  assert.deepEqual([ran, clock.alarms()], [[], 0]);
});
