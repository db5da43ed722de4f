import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readAhead } from '../../../app/adapters/gguf/read-ahead.ts';
import { AppError } from '../../../app/errors.ts';

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'llamastead-read-'));
  await writeFile(join(folder, 'big-00001-of-00002.gguf'), Buffer.alloc(3_000_000));
  await writeFile(join(folder, 'big-00002-of-00002.gguf'), Buffer.alloc(50));
  await writeFile(join(folder, 'eyes.gguf'), Buffer.alloc(7));
});

after(() => rm(folder, { recursive: true }));

test('all parts of a model and its projector are read', async () => {
  const { read } = readAhead({ modelsFolder: folder });
  assert.equal(await read({ file: 'big-00001-of-00002.gguf', projector: 'eyes.gguf' }), 3_000_057);
});

test('a file that is not there is named, and the next read works', async () => {
  const { read } = readAhead({ modelsFolder: folder });
  const missing = read({ file: 'none.gguf', projector: null });
  const next = read({ file: 'eyes.gguf', projector: null });
  await assert.rejects(
    missing,
    (error) =>
      error instanceof AppError && error.code === 'model_unreadable' && /none\.gguf/.test(error.message),
  );
  assert.equal(await next, 7);
});
