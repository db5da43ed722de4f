import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { contentHash, fileParts, filesUnder } from '../../home/lib/content-hash.ts';

const folder = mkdtempSync(join(tmpdir(), 'hash-'));
after(() => rmSync(folder, { recursive: true }));

test('a hash fits an image tag, and depends on where one part ends and the next begins', () => {
  assert.match(contentHash(['a']), /^[0-9a-f]{12}$/);
  assert.notEqual(contentHash(['ab', 'c']), contentHash(['a', 'bc']));
  assert.equal(contentHash(['é']), contentHash([Buffer.from('é')]));
});

test('files come sorted, and a refused folder is not entered', () => {
  mkdirSync(join(folder, 'b/deep'), { recursive: true });
  mkdirSync(join(folder, 'skipped'));
  for (const path of ['z', 'b/deep/x', 'b/a', 'skipped/y']) writeFileSync(join(folder, path), path);
  assert.deepEqual(
    filesUnder(folder, (path) => path !== 'skipped/'),
    ['b/a', 'b/deep/x', 'z'],
  );
});

test('a renamed file and a changed file each change the hash of a folder', () => {
  const hash = () => contentHash(fileParts(folder, filesUnder(folder)));
  const before = hash();
  writeFileSync(join(folder, 'z'), 'changed');
  const changed = hash();
  rmSync(join(folder, 'z'));
  writeFileSync(join(folder, 'zz'), 'changed');
  assert.equal(new Set([before, changed, hash()]).size, 3);
});
