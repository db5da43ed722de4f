import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, formatSize, parseDuration, parseSize } from '../../app/config/units.ts';
import { fc } from '../support/property.ts';

test('sizes and durations are read with their unit, and nothing else is', () => {
  const sizes: [string, number | null][] = [
    ['512MiB', 512 * 2 ** 20],
    ['6GiB', 6 * 2 ** 30],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['0B', 0],
    ['6GB', null],
    ['6', null],
    ['GiB', null],
    ['-1GiB', null],
    ['6 GiB', null],
    ['toString', null],
  ];
  for (const [text, bytes] of sizes) assert.equal(parseSize(text), bytes, text);
  const durations: [string, number | null][] = [
    ['500ms', 500],
    ['90s', 90_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['10min', null],
    ['10', null],
    ['1h30m', null],
  ];
  for (const [text, ms] of durations) assert.equal(parseDuration(text), ms, text);
});

test('what is formatted reads back the same', () => {
  fc.assert(fc.property(fc.nat(), (value) => parseSize(formatSize(value)) === value));
  fc.assert(fc.property(fc.nat(), (value) => parseDuration(formatDuration(value)) === value));
  assert.equal(formatDuration(600_000), '10m');
  assert.equal(formatSize(6 * 2 ** 30), '6GiB');
});
