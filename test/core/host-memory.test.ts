import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseMeminfo, parsePressure, parseVmstat, swapInRate } from '../../app/core/host-memory.ts';
import { fc } from '../support/property.ts';

const fixture = (name: string) => readFileSync(new URL(`../fixtures/host/${name}`, import.meta.url), 'utf8');

test('meminfo is read in bytes', () => {
  assert.deepEqual(parseMeminfo(fixture('meminfo-zimaboard.txt')), {
    total: 7954348 * 1024,
    available: 5123456 * 1024,
    swapTotal: 2097148 * 1024,
    swapFree: 2000000 * 1024,
    services: null,
    cards: {},
  });
});

test('what ZFS’s cache holds above its minimum counts as available, up to the total', () => {
  const plain = parseMeminfo(fixture('meminfo-zimaboard.txt'))?.available ?? 0;
  const zfs = parseMeminfo(fixture('meminfo-zimaboard.txt'), fixture('arcstats.txt'))?.available ?? 0;
  assert.equal(zfs - plain, Math.min(3_262_144_000 - 262_144_000, 7954348 * 1024 - plain));
  assert.equal(parseMeminfo(fixture('meminfo-zimaboard.txt'), 'nothing of the kind')?.available, plain);
});

test('a ZFS cache below its minimum takes nothing away', () => {
  const small = fixture('arcstats.txt').replace('3262144000', '1000');
  const plain = parseMeminfo(fixture('meminfo-zimaboard.txt'))?.available;
  assert.equal(parseMeminfo(fixture('meminfo-zimaboard.txt'), small)?.available, plain);
});

test('a text without the two totals is no reading', () => {
  assert.equal(parseMeminfo(''), undefined);
  assert.equal(parseMeminfo('MemTotal: 5 kB\n'), undefined);
  assert.equal(parseMeminfo('MemAvailable: 5 kB\n'), undefined);
});

test('only whole lines of the totals count: those of one NUMA node are none', () => {
  const text = 'MemTotal:   9 kB\nMemAvailable: 8 kB\n';
  const others = 'Node 0 MemTotal: 3 kB\nNode 0 MemAvailable: 2 kB\nMemTotal: 4 kB and more\n';
  assert.deepEqual(parseMeminfo(text + others), parseMeminfo(text));
  assert.equal(parseMeminfo(text)?.total, 9 * 1024);
});

test('pressure is read with and without the line of full stalls', () => {
  const text = fixture('pressure-memory.txt');
  assert.deepEqual(parsePressure(text), {
    some: { avg10: 12.5, avg60: 4.02, avg300: 0.95, total: 2381946 },
    full: { avg10: 6.01, avg60: 1.73, avg300: 0.41, total: 1204211 },
  });
  assert.equal(parsePressure(text.split('\n')[0] ?? '')?.full, null);
  assert.equal(parsePressure(''), undefined);
});

test('the swap-in rate is what came back between two readings', () => {
  const before = parseVmstat(fixture('vmstat.txt'));
  assert.deepEqual(before, { swappedIn: 5120, majorFaults: 3613, refaults: 787477 });
  assert.ok(before);
  const after = { ...before, swappedIn: before.swappedIn + 2560 };
  assert.equal(swapInRate(before, after, 10), 1024 * 1024);
  assert.equal(swapInRate(after, before, 10), 0);
  assert.equal(swapInRate(before, after, 0), 0);
  assert.equal(parseVmstat('nr_free_pages 5'), undefined);
});

test('property: no text makes a parser throw', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, other) => {
      parseMeminfo(text, other);
      parsePressure(text);
      parseVmstat(text);
    }),
  );
});
