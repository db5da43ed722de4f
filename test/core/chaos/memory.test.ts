import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStays } from '../../chaos/check/memory.ts';

const MIB = 2 ** 20;
const life = (pid: number, mib: readonly number[]) => mib.map((each) => ({ pid, bytes: each * MIB }));
const found = (...lives: readonly number[][]) =>
  memoryStays(lives.flatMap((mib, pid) => life(pid, mib))).map(({ what }) => what);
/** So many seconds, from so many MiB, by so much a second, with the swing of a heap. */
const seconds = (count: number, from: number, step: number) =>
  Array.from({ length: count }, (_, index) => from + index * step + (index % 7) * 3);

test('a controller that holds too much is found, and one that was never looked at', () => {
  assert.deepEqual(found([160, 240, 200]), []);
  assert.match(found([160, 300, 200])[0] ?? '', /300 MiB/);
  assert.equal(found().length, 1);
});

test('one that grows from minute to minute is found, whichever of its lives it was', () => {
  assert.deepEqual(found(seconds(200, 120, 0)), []);
  assert.match(
    found(seconds(200, 120, 0), seconds(160, 60, 0.8))[0] ?? '',
    /process 1 grew by 6\d MiB in 160 s/,
  );
});

test('the growth of a start is none, nor is that of a short life', () => {
  assert.deepEqual(found([...seconds(40, 60, 3), ...seconds(160, 180, 0)]), []);
  assert.deepEqual(found(seconds(60, 60, 2), seconds(60, 60, 2)), []);
});
