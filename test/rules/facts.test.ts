/** What Home Assistant is told to expect is what the core tells. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOLD_TYPES, UNTOLD_TYPES } from '../../app/core/facts.ts';
import { filesIn } from './imports.ts';

const texts = filesIn('app/core', /\.ts$/)
  .filter(({ path }) => path !== 'app/core/facts.ts')
  .map(({ text }) => text);
/** As a fact is written, also where its type is one of two. */
const isTold = (type: string): boolean => texts.some((text) => new RegExp(`type: [^;]*'${type}'`).test(text));

test('each type that is announced is told somewhere, and no other one is', () => {
  assert.deepEqual(
    TOLD_TYPES.filter((type) => !isTold(type)),
    [],
  );
  assert.deepEqual(UNTOLD_TYPES.filter(isTold), []);
});
