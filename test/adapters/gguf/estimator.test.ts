import assert from 'node:assert/strict';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { estimator } from '../../../app/adapters/gguf/estimator.ts';
import { problemOf } from '../../../app/adapters/gguf/problems.ts';
import { needOf } from '../../../app/core/need.ts';
import type { Profile } from '../../../app/core/types.ts';
import { EIGHT_B, modelSpec, type Shape } from '../../support/gguf-shapes.ts';
import { writeGguf } from '../../support/gguf-writer.ts';
import { parsed } from '../../support/parsed-gguf.ts';
import { profileOf } from '../../support/profiles.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const SMALL: Shape = { ...EIGHT_B, layers: 2, vocabulary: 1000 };

async function codeOf(folder: string, change: Partial<Profile>): Promise<string | undefined> {
  return estimator({ modelsFolder: folder })
    .need(profileOf(change))
    .then(
      () => undefined,
      (error: unknown) => problemOf(error)?.code ?? `no problem: ${error}`,
    );
}

test('the need of a file is the need of its header', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'model.gguf'), modelSpec(SMALL));
  const need = await estimator({ modelsFolder: folder }).need(profileOf());
  assert.deepEqual(need, needOf({ gguf: parsed(modelSpec(SMALL)), projector: null, profile: profileOf() }));
});

test('the same file and arguments are answered from memory, a changed one is read again', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'model.gguf');
  await writeGguf(path, modelSpec(SMALL));
  const { need } = estimator({ modelsFolder: folder });
  const first = await need(profileOf());
  assert.equal(await need(profileOf()), first);
  const other = await need(profileOf({ context: 16384, hash: 'b' }));
  assert.ok(other.ram > first.ram);
  await utimes(path, 1, 1);
  assert.notEqual(await need(profileOf()), first);
  await writeGguf(path, modelSpec({ ...SMALL, layers: 4 }));
  assert.ok((await need(profileOf())).ram > first.ram);
});

test('a projector adds to the need', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'model.gguf'), modelSpec(SMALL));
  const tensors = [{ name: 'v.blk.0.attn_q.weight', type: 1, dims: [1024, 1024] }];
  await writeGguf(join(folder, 'mmproj.gguf'), { metadata: {}, tensors });
  const { need } = estimator({ modelsFolder: folder });
  const without = await need(profileOf());
  const withIt = await need(profileOf({ projector: 'mmproj.gguf', hash: 'p' }));
  assert.ok(withIt.ram > without.ram + 2 * 1024 * 1024);
});

test('a file that cannot be used rejects with the problem that names it, until it is mended', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'model.gguf');
  const { need } = estimator({ modelsFolder: folder });
  await assert.rejects(need(profileOf()), { code: 'model_unreadable' });
  await writeGguf(path, modelSpec(SMALL), 10_000);
  const error = await need(profileOf()).catch((thrown: unknown) => thrown);
  assert.equal(problemOf(error)?.code, 'model_truncated');
  assert.match(problemOf(error)?.text ?? '', /"model\.gguf"/);
  await writeGguf(path, modelSpec(SMALL));
  assert.ok((await need(profileOf())).ram > 0);
});

test('no name leads out of the models folder', async (t) => {
  const outer = await temporaryFolder(t);
  const folder = join(outer, 'models');
  await mkdir(folder);
  await writeGguf(join(outer, 'outside.gguf'), modelSpec(SMALL));
  await writeGguf(join(folder, 'with space/모델.gguf'), modelSpec(SMALL));
  await symlink('../outside.gguf', join(folder, 'escape.gguf'));
  await symlink('nowhere.gguf', join(folder, 'broken.gguf'));
  for (const file of [
    '../outside.gguf',
    'a/../../outside.gguf',
    join(outer, 'outside.gguf'),
    'escape.gguf',
    '..',
    'x\0y',
  ]) {
    assert.equal(await codeOf(folder, { file }), 'model_outside', file);
  }
  assert.equal(await codeOf(folder, { file: 'broken.gguf' }), 'model_link_broken');
  assert.equal(await codeOf(folder, { file: 'none.gguf' }), 'model_missing');
  assert.equal(await codeOf(folder, { file: 'a/../with space/모델.gguf' }), undefined);
  assert.equal(
    await codeOf(folder, { file: 'with space/모델.gguf', projector: '../outside.gguf' }),
    'model_outside',
  );
  await writeFile(join(folder, 'text.gguf'), 'just some words, no model at all');
  assert.equal(await codeOf(folder, { file: 'text.gguf' }), 'model_not_gguf');
  assert.equal(await codeOf(folder, { file: 'with space' }), 'model_not_readable');
});
