import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearest } from '../../app/core/nearest.ts';
import { fc } from '../support/property.ts';

test('the distance counts insertions, deletions, substitutions and swaps of neighbours', () => {
  const table: [string, string, number][] = [
    ['', '', 0],
    ['a', '', 1],
    ['context', 'contxt', 1],
    ['context', 'contetx', 1],
    ['ab', 'ba', 1],
    ['ab', 'ca', 2],
    ['ab', 'bc', 2],
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

/** By its definition: the least of all ways, from the ends of both words. */
function defined(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const [shortA, shortB] = [a.slice(0, -1), b.slice(0, -1)];
  const ways = [defined(shortA, b) + 1, defined(a, shortB) + 1];
  ways.push(defined(shortA, shortB) + (a.at(-1) === b.at(-1) ? 0 : 1));
  const isSwap = a.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1);
  if (isSwap) ways.push(defined(a.slice(0, -2), b.slice(0, -2)) + 1);
  return Math.min(...ways);
}

test('the distance is what its definition says', () => {
  const word = fc.string({ maxLength: 5, unit: fc.constantFrom('a', 'b', 'c') });
  fc.assert(fc.property(word, word, (a, b) => assert.equal(editDistance(a, b), defined(a, b))));
});

test('of two that are as near the first one is meant; a longer word may differ in more letters', () => {
  assert.equal(nearest('bat', ['cat', 'hat']), 'cat');
  assert.equal(nearest('keploded', ['keepLoaded']), 'keepLoaded');
  assert.equal(nearest('keplodd', ['keepLoaded']), null);
  assert.equal(nearest('ab', ['cd']), null);
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
