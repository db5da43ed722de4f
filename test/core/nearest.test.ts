import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { editDistance, nearest } from '../../app/core/nearest.ts';

test('the distance counts insertions, deletions, substitutions and swaps of neighbours', () => {
  const table: [string, string, number][] = [
    ['', '', 0],
    ['a', '', 1],
    ['context', 'contxt', 1],
    ['context', 'contetx', 1],
    ['ab', 'ba', 1],
    ['file', 'fiel', 1],
    ['kitten', 'sitting', 3],
  ];
  for (const [a, b, distance] of table) assert.equal(editDistance(a, b), distance, `${a} ${b}`);
});

test('the distance is symmetric, zero only for equals, and never over the longer word', () => {
  const word = fc.string({ maxLength: 8, unit: fc.constantFrom('a', 'b', 'c') });
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      assert.equal(distance, editDistance(b, a));
      assert.equal(distance === 0, a === b);
      assert.ok(distance <= Math.max(a.length, b.length));
    }),
  );
});

test('the nearest key is found in spite of case, underscores and typing errors, and nothing far off is', () => {
  const keys = ['file', 'context', 'idleUnload', 'keepLoaded', 'env'];
  assert.equal(nearest('contxt', keys), 'context');
  assert.equal(nearest('idle_unload', keys), 'idleUnload');
  assert.equal(nearest('KeepLoaded', keys), 'keepLoaded');
  assert.equal(nearest('fiel', keys), 'file');
  assert.equal(nearest('temperature', keys), null);
  assert.equal(nearest('', keys), null);
});
