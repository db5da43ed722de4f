/** What of a file's metadata is believed: whole numbers that count something, and texts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { elementOf, largest, numberOf, textOf } from '../../app/core/gguf-metadata.ts';
import type { GgufValue } from '../../app/core/gguf-types.ts';

const meta = (value: GgufValue) => new Map([['key', value]]);

describe('a value', () => {
  for (const [value, count, most, text] of [
    [0, 0, 0, undefined],
    [32, 32, 32, undefined],
    [2 ** 40, 2 ** 40, 2 ** 40, undefined],
    [-1, undefined, 0, undefined],
    [0.5, undefined, 0, undefined],
    [Number.NaN, undefined, 0, undefined],
    [2 ** 60, undefined, 0, undefined],
    [true, undefined, 0, undefined],
    ['32', undefined, 0, '32'],
    ['', undefined, 0, ''],
    [{ count: 5000 }, undefined, 0, undefined],
    [[], undefined, 0, undefined],
    [[8, 2, 16, 4], 8, 16, undefined],
    [[-8, 2, 2.5], undefined, 2, undefined],
    [['a', 'b'], undefined, 0, undefined],
  ] as const satisfies readonly (readonly [GgufValue, number | undefined, number, string | undefined])[]) {
    test(`${JSON.stringify(value)} counts ${count}, at most ${most}, and reads ${text}`, () => {
      assert.equal(numberOf(meta(value), 'key'), count);
      assert.equal(largest(meta(value), 'key'), most);
      assert.equal(textOf(meta(value), 'key'), text);
    });
  }

  test('that is not there is none', () => {
    assert.equal(numberOf(meta(1), 'other'), undefined);
    assert.equal(largest(meta(1), 'other'), 0);
    assert.equal(textOf(meta('a'), 'other'), undefined);
  });
});

test('a layer has its own number, or the one for all; a list that is too short has none for it', () => {
  const each = (value: GgufValue) => [0, 1, 2].map((layer) => elementOf(meta(value), 'key', layer));
  assert.deepEqual(each(8), [8, 8, 8]);
  assert.deepEqual(each([8, 0]), [8, 0, undefined]);
});
