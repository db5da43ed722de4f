import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { after, test } from 'node:test';
import { orderedTestFiles } from '../../home/suite/test-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'suite-'));
after(() => rmSync(folder, { recursive: true }));

const paths = [
  ...['e2e/main.test.ts', 'core/b.test.ts', 'core/a.test.ts', 'core/help.ts', 'contract/c.test.ts'],
  'contract/home-assistant.test.ts',
];
for (const path of paths) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), '');
}
const ordered = (words: string[]) =>
  orderedTestFiles(folder, words).map(({ path }) => relative(folder, path));

test('pure tests run first, those on real parts after them, files that are no tests not at all', () => {
  assert.deepEqual(ordered([]), [
    'core/a.test.ts',
    'core/b.test.ts',
    'contract/c.test.ts',
    'e2e/main.test.ts',
    'contract/home-assistant.test.ts',
  ]);
});

test('words choose files by their path', () => {
  assert.deepEqual(ordered(['test/core']), ['core/a.test.ts', 'core/b.test.ts']);
  assert.deepEqual(ordered(['main', 'b.test']), ['core/b.test.ts', 'e2e/main.test.ts']);
  assert.deepEqual(ordered(['nothing']), []);
});

test('files that use the same engine or the browser never run at once', () => {
  const parts = new Map(orderedTestFiles(folder, []).map(({ path, part }) => [relative(folder, path), part]));
  assert.deepEqual(Object.fromEntries(parts), {
    'core/a.test.ts': null,
    'core/b.test.ts': null,
    'contract/c.test.ts': 'engine',
    'e2e/main.test.ts': 'engine',
    'contract/home-assistant.test.ts': 'home-assistant',
  });
});
