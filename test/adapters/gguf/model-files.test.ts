import assert from 'node:assert/strict';
import { chmod, link, mkdir, rename, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { modelFiles } from '../../../app/adapters/gguf/model-files.ts';
import { problemKey } from '../../../app/core/problem.ts';
import { EIGHT_B, modelSpec, type Shape } from '../../support/gguf-shapes.ts';
import { type GgufSpec, writeGguf } from '../../support/gguf-writer.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const SMALL: Shape = {
  ...EIGHT_B,
  layers: 1,
  vocabulary: 300,
  embedding: 256,
  heads: 2,
  kvHeads: 1,
  feedForward: 256,
};
const MODEL = modelSpec(SMALL);
const PROJECTOR: GgufSpec = {
  metadata: { 'general.architecture': { text: 'clip' }, 'general.type': { text: 'mmproj' } },
  tensors: [{ name: 'v.patch_embd.weight', type: 1, dims: [16, 16] }],
};

async function scan(modelsFolder: string) {
  const { files, problems } = await modelFiles({ modelsFolder }).scan();
  assert.equal(new Set(problems.map(problemKey)).size, problems.length, 'no problem stands in for another');
  return {
    names: files.map(({ file }) => file),
    pairs: Object.fromEntries(files.map(({ file, projector }) => [file, projector])),
    problems: Object.fromEntries(problems.map((problem) => [problem.params?.['file'] ?? '', problem.code])),
    codes: problems.map(({ code }) => code),
    files,
  };
}

test('finds models in the folder and below it, with what the header says', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'top.gguf'), MODEL);
  await writeGguf(join(folder, 'a/b/deep.GGUF'), modelSpec({ ...SMALL, more: { pooling_type: { u32: 3 } } }));
  await writeGguf(join(folder, '한국어 모델 7b.gguf'), MODEL);
  const { files, codes } = await scan(folder);
  assert.deepEqual(files.map(({ file, pooling }) => [file, pooling]).toSorted(), [
    ['a/b/deep.GGUF', 'embedding'],
    ['top.gguf', 'none'],
    ['한국어 모델 7b.gguf', 'none'],
  ]);
  assert.ok(
    files.every(({ architecture, trainedContext }) => architecture === 'llama' && trainedContext === 131072),
  );
  assert.deepEqual(codes, []);
});

test('parts of downloads, other files and companions are no models', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'model.gguf'), MODEL);
  await writeGguf(join(folder, 'half.gguf.part'), MODEL, 100);
  await writeGguf(join(folder, 'adapter.gguf'), modelSpec(SMALL, { 'general.type': { text: 'adapter' } }));
  await writeGguf(join(folder, 'model-imatrix.gguf'), MODEL);
  await writeFile(join(folder, 'README.md'), 'words');
  const { names, codes } = await scan(folder);
  assert.deepEqual(names, ['model.gguf']);
  assert.deepEqual(codes, []);
});

test('a split model is one model with the size of all its parts', async (t) => {
  const folder = await temporaryFolder(t);
  const part = (n: number) => join(folder, `big-0000${n}-of-00003.gguf`);
  await writeGguf(part(1), MODEL);
  for (const n of [2, 3]) {
    await writeGguf(part(n), {
      metadata: {},
      tensors: [{ name: `blk.${n}.x.weight`, type: 1, dims: [1024] }],
    });
  }
  const { files, codes } = await scan(folder);
  assert.deepEqual(codes, []);
  assert.equal(files.length, 1);
  assert.equal(files[0]?.file, 'big-00001-of-00003.gguf');
  assert.ok((files[0]?.size ?? 0) > 3000);
});

test('a missing part is named, whichever it is', async (t) => {
  for (const missing of [1, 2, 3]) {
    const folder = await temporaryFolder(t);
    for (const n of [1, 2, 3].filter((n) => n !== missing)) {
      await writeGguf(join(folder, `big-0000${n}-of-00003.gguf`), MODEL);
    }
    const { files, problems } = await modelFiles({ modelsFolder: folder }).scan();
    assert.deepEqual(files, []);
    assert.deepEqual(
      problems.map(({ code, params }) => [code, params?.['missing']]),
      [['model_shard_missing', `big-0000${missing}-of-00003.gguf`]],
    );
  }
});

test('a projector pairs with the models of its folder that it fits', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'vl/model.gguf'), MODEL);
  await writeGguf(join(folder, 'vl/mmproj-F16.gguf'), PROJECTOR);
  await writeGguf(join(folder, 'text/model.gguf'), MODEL);
  await writeGguf(join(folder, 'wide/model.gguf'), MODEL);
  const wide = {
    ...PROJECTOR,
    metadata: { ...PROJECTOR.metadata, 'clip.vision.projection_dim': { u32: 4096 } },
  };
  await writeGguf(join(folder, 'wide/mmproj-F16.gguf'), wide);
  const { pairs } = await scan(folder);
  assert.deepEqual(pairs, {
    'text/model.gguf': null,
    'vl/model.gguf': 'vl/mmproj-F16.gguf',
    'wide/model.gguf': null,
  });
});

test('a bad file is a problem of its own and hides no other', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'good.gguf'), MODEL);
  await writeGguf(join(folder, 'cut off.gguf'), MODEL, 5000);
  await writeGguf(join(folder, 'future.gguf'), { ...MODEL, version: 9 });
  await writeFile(join(folder, 'page.gguf'), '<html>not found, and so on</html>');
  await writeFile(join(folder, 'nothing.gguf'), '');
  const { names, problems } = await scan(folder);
  assert.deepEqual(names, ['good.gguf']);
  assert.deepEqual(problems, {
    'cut off.gguf': 'model_truncated',
    'future.gguf': 'model_version',
    'page.gguf': 'model_not_gguf',
    'nothing.gguf': 'model_truncated',
  });
});

test('links inside the folder are followed, out of it refused by name, and loops end', async (t) => {
  const outer = await temporaryFolder(t);
  const folder = join(outer, 'models');
  await writeGguf(join(folder, 'store/blob.gguf'), MODEL);
  await writeGguf(join(outer, 'secret/outside.gguf'), MODEL);
  await symlink('store/blob.gguf', join(folder, 'named.gguf'));
  await symlink('../secret/outside.gguf', join(folder, 'escape.gguf'));
  await symlink('../secret', join(folder, 'escaping'));
  await symlink('nowhere.gguf', join(folder, 'broken.gguf'));
  await symlink('.', join(folder, 'loop'));
  await symlink('self.gguf', join(folder, 'self.gguf'));
  const { names, problems } = await scan(folder);
  assert.deepEqual(names, ['named.gguf', 'store/blob.gguf']);
  assert.deepEqual(problems, {
    'escape.gguf': 'model_outside',
    escaping: 'model_outside',
    'broken.gguf': 'model_link_broken',
    'self.gguf': 'model_link_broken',
  });
});

test('an empty folder and a missing one say what to do', async (t) => {
  const folder = await temporaryFolder(t);
  assert.deepEqual((await scan(folder)).codes, ['models_folder_empty']);
  assert.deepEqual((await scan(join(folder, 'none'))).codes, ['models_folder_missing']);
  await writeFile(join(folder, 'file'), '');
  assert.deepEqual((await scan(join(folder, 'file'))).codes, ['models_folder_missing']);
});

test('a mended file is found by the next scan of the same scanner', async (t) => {
  const folder = await temporaryFolder(t);
  const scanner = modelFiles({ modelsFolder: folder });
  await writeGguf(join(folder, 'model.gguf'), MODEL, 3000);
  assert.equal((await scanner.scan()).problems.length, 1);
  await writeGguf(join(folder, 'model.gguf'), MODEL);
  assert.deepEqual(
    (await scanner.scan()).files.map(({ file }) => file),
    ['model.gguf'],
  );
  await rename(join(folder, 'model.gguf'), join(folder, 'renamed.gguf'));
  assert.deepEqual(
    (await scanner.scan()).files.map(({ file }) => file),
    ['renamed.gguf'],
  );
});

test('an unchanged file is not read again', async (t) => {
  const folder = await temporaryFolder(t);
  const logged: unknown[] = [];
  const log = { debug: (details: unknown) => void logged.push(details) };
  await writeGguf(join(folder, 'adapter.gguf'), modelSpec(SMALL, { 'general.type': { text: 'adapter' } }));
  const scanner = modelFiles({ modelsFolder: folder, log });
  await scanner.scan();
  await scanner.scan();
  assert.deepEqual(logged, [{ file: 'adapter.gguf', why: 'general.type is adapter' }]);
});

test('two names of one file are two models', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(folder, { recursive: true });
  await writeGguf(join(folder, 'a.gguf'), MODEL);
  await link(join(folder, 'a.gguf'), join(folder, 'b.gguf'));
  assert.deepEqual((await scan(folder)).names, ['a.gguf', 'b.gguf']);
});

test('a folder below that cannot be read is a problem and hides no other', async (t) => {
  const folder = await temporaryFolder(t);
  await writeGguf(join(folder, 'good.gguf'), MODEL);
  await mkdir(join(folder, 'closed'));
  await chmod(join(folder, 'closed'), 0);
  await chmod(folder, 0o755);
  const { names, problems } = await asNobody(() => scan(folder));
  assert.deepEqual(names, ['good.gguf']);
  assert.deepEqual(problems, { closed: 'model_not_readable' });
});

/** Root may read everything: runs as a user that may not. */
async function asNobody<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(65534);
  try {
    return await run();
  } finally {
    process.seteuid?.(0);
  }
}

test('a model that shrinks while it is known is read anew', async (t) => {
  const folder = await temporaryFolder(t);
  const scanner = modelFiles({ modelsFolder: folder });
  await writeGguf(join(folder, 'model.gguf'), MODEL);
  assert.equal((await scanner.scan()).files.length, 1);
  await truncate(join(folder, 'model.gguf'), 4000);
  assert.deepEqual(
    (await scanner.scan()).problems.map(({ code }) => code),
    ['model_truncated'],
  );
});
