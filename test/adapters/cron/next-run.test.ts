import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nextRun } from '../../../app/adapters/cron/next-run.ts';
import { cronProblem } from '../../../app/config/cron-form.ts';
import { fc } from '../../support/property.ts';

const BERLIN = 'Europe/Berlin';
const at = (text: string) => Date.parse(text);

function runs(line: string, zone: string, from: string, count: number): string[] {
  const found: string[] = [];
  let last = at(from);
  while (found.length < count) {
    const next = nextRun(line, zone, last);
    if (next === null) break;
    found.push(new Date(next).toISOString().slice(0, 19));
    last = next;
  }
  return found;
}

describe('the next run of a cron line', () => {
  const table: readonly [string, string, string, string[]][] = [
    ['0 2 * * *', 'Asia/Seoul', '2026-11-30T09:00:00Z', ['2026-11-30T17:00:00', '2026-12-01T17:00:00']],
    ['30 0 2 * * *', 'UTC', '2026-11-30T02:00:30Z', ['2026-12-01T02:00:30']],
    ['*/20 9 * * mon-fri', 'UTC', '2026-11-28T00:00:00Z', ['2026-11-30T09:00:00', '2026-11-30T09:20:00']],
    [
      '0 0 * * 5-7',
      'UTC',
      '2026-11-27T00:00:00Z',
      ['2026-11-28T00:00:00', '2026-11-29T00:00:00', '2026-12-04T00:00:00'],
    ],
    ['0 0 29 2 *', 'UTC', '2026-11-30T00:00:00Z', ['2028-02-29T00:00:00']],
    // Both days given: either counts, as in every cron.
    ['0 0 1 * mon', 'UTC', '2026-11-28T00:00:00Z', ['2026-11-30T00:00:00', '2026-12-01T00:00:00']],
    // The hour that the clock skips in spring (01:00 UTC): once, when the clock shows an hour more.
    ['30 2 * * *', BERLIN, '2027-03-27T12:00:00Z', ['2027-03-28T01:30:00', '2027-03-29T00:30:00']],
    // The hour that comes twice in autumn: once, the first time.
    ['30 2 * * *', BERLIN, '2027-10-30T12:00:00Z', ['2027-10-31T00:30:00', '2027-11-01T01:30:00']],
    ['0 * * * *', BERLIN, '2027-03-28T00:30:00Z', ['2027-03-28T01:00:00', '2027-03-28T02:00:00']],
    ['0 4 * * *', BERLIN, '2027-03-27T12:00:00Z', ['2027-03-28T02:00:00', '2027-03-29T02:00:00']],
    [
      '15 0 * * *',
      'America/Sao_Paulo',
      '2018-11-03T12:00:00Z',
      ['2018-11-04T03:15:00', '2018-11-05T02:15:00'],
    ],
  ];
  for (const [line, zone, from, expected] of table) {
    test(`${line} in ${zone} after ${from}`, () =>
      assert.deepEqual(runs(line, zone, from, expected.length), expected));
  }
});

const field = (min: number, max: number) => {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc
    .tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 1, max }))
    .map((it) => it.join('/'));
  const item = fc.oneof(value.map(String), range, step);
  return fc.oneof(
    fc.constant('*'),
    item,
    fc.array(item, { minLength: 1, maxLength: 3 }).map((it) => it.join(',')),
  );
};
const lines = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
  .map((parts) => parts.join(' '));
const zones = fc.constantFrom(
  'UTC',
  BERLIN,
  'America/St_Johns',
  'Asia/Seoul',
  'Australia/Lord_Howe',
  'America/Sao_Paulo',
);
const moments = fc.integer({ min: at('2018-01-01'), max: at('2030-01-01') });

test('every line that the configuration takes has a later run in every zone, and always the same one', () => {
  fc.assert(
    fc.property(lines, zones, moments, (line, zone, after) => {
      fc.pre(cronProblem(line) === null);
      const next = nextRun(line, zone, after);
      assert.ok(next !== null && next > after, `${line}: ${next}`);
      // Nothing between: from any moment before it the same run comes.
      const between = after + Math.floor((next - after) / 2);
      assert.equal(nextRun(line, zone, between), next);
    }),
    { numRuns: 300 },
  );
});

test('a daily line runs once on each local day, also on those of 23 and 25 hours', () => {
  const day = fc.tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }));
  fc.assert(
    fc.property(day, zones, fc.integer({ min: 2018, max: 2029 }), ([minute, hour], zone, year) => {
      const localDay = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
      let last = nextRun(`${minute} ${hour} * * *`, zone, Date.UTC(year, 0, 1, 12)) ?? 0;
      let before = localDay.format(last);
      for (let i = 0; i < 370; i += 1) {
        const next = nextRun(`${minute} ${hour} * * *`, zone, last) ?? 0;
        const today = localDay.format(next);
        assert.ok(today > before && next - last < 49 * 3_600_000, `${zone} ${before} ${today}`);
        last = next;
        before = today;
      }
    }),
    { numRuns: 20 },
  );
});
