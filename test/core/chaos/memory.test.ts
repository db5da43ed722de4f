import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStays } from '../../chaos/check/memory.ts';

const MIB = 2 ** 20;

test('a controller that holds more and more is found, and one that was never looked at', () => {
  assert.deepEqual(memoryStays([160 * MIB, 240 * MIB, 200 * MIB]), []);
  assert.match(memoryStays([160 * MIB, 300 * MIB, 200 * MIB])[0]?.what ?? '', /300 MiB/);
  assert.equal(memoryStays([]).length, 1);
});
