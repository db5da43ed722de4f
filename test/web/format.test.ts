import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFormat, zoneOffset } from '../../app/web/text/format.ts';

const GIB = 1024 ** 3;
const plain = (text: string): string => text.replaceAll('\u00a0', ' ');

describe('sizes', () => {
  const format = createFormat('en', 0);
  it('tells memory in GiB with one decimal, small amounts in MiB', () => {
    assert.equal(plain(format.memory(5.1 * GIB)), '5.1 GiB');
    assert.equal(plain(format.memory(0.3 * GIB)), '0.3 GiB');
    assert.equal(plain(format.memory(40 * 1024 ** 2)), '40 MiB');
    assert.equal(plain(format.memory(0)), '0.0 GiB');
  });
  it('tells files in GB as disks do', () => {
    assert.equal(plain(format.file(3.1e9)), '3.1 GB');
    assert.equal(plain(format.file(40e6)), '40 MB');
  });
  it('never parts a number from its unit at the end of a line', () => {
    assert.ok(!format.memory(5 * GIB).includes(' '));
    assert.ok(!format.duration(12).includes(' '));
  });
});

describe('durations', () => {
  const said = (seconds: number): string => plain(createFormat('en', 0).duration(seconds));
  it('show the two larger units that matter', () => {
    assert.deepEqual([0.034, 0.4, 6.34, 9.96, 12.2, 59.96, 60, 130, 3600, 3900, 90_000].map(said), [
      '34 ms',
      '0.4 s',
      '6.3 s',
      '10 s',
      '12 s',
      '1 min',
      '1 min',
      '2 min 10 s',
      '1 h',
      '1 h 5 min',
      '25 h',
    ]);
  });
  it('speak the language', () => {
    assert.equal(createFormat('ko', 0).duration(130), '2분 10초');
    assert.equal(plain(createFormat('zh', 0).duration(130)), '2 分 10 秒');
    assert.equal(plain(createFormat('zh', 0).duration(600)), '10 分钟');
  });
  it('count in whole seconds where they run on the screen, never below zero', () => {
    const { ticking } = createFormat('en', 0);
    assert.equal(plain(ticking(6.9)), '6 s');
    assert.equal(plain(ticking(-3)), '0 s');
  });
});

describe('times', () => {
  it("are the box's, wherever the reader is", () => {
    const format = createFormat('en', zoneOffset('2026-11-30T14:03:09+09:00'));
    assert.equal(format.clock('2026-11-30T14:03:09+09:00'), '14:03');
    assert.equal(format.clock('2026-11-30T05:03:09Z'), '14:03');
    assert.equal(format.clockSeconds('2026-11-30T14:03:09+09:00'), '14:03:09');
    assert.equal(format.clock('2026-11-30T00:03:09+09:00'), '00:03');
    assert.equal(format.dayKey('2026-11-29T15:30:00Z'), '2026-11-30');
  });
  it('know no zone from a Z alone', () => {
    assert.equal(zoneOffset('2026-11-30T05:03:09Z'), null);
    assert.equal(zoneOffset('2026-11-30T05:03:09-03:30'), -210);
  });
  it('name the day by language', () => {
    assert.match(createFormat('en', 540).day('2026-11-30T14:03:09+09:00'), /Monday/);
    assert.match(createFormat('ko', 540).day('2026-11-30T14:03:09+09:00'), /월요일/);
    assert.match(createFormat('zh', 540).day('2026-11-30T14:03:09+09:00'), /星期一/);
  });
});
