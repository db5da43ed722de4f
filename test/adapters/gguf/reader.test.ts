import assert from 'node:assert/strict';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { problemOf } from '../../../app/adapters/gguf/problems.ts';
import { readGgufHeader } from '../../../app/adapters/gguf/reader.ts';
import { EIGHT_B, modelSpec, type Shape } from '../../support/gguf-shapes.ts';
import { type GgufSpec, ggufHeader, writeGguf } from '../../support/gguf-writer.ts';
import { parsed } from '../../support/parsed-gguf.ts';
import { fc } from '../../support/property.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const SMALL: Shape = {
  ...EIGHT_B,
  layers: 2,
  vocabulary: 300,
  embedding: 256,
  heads: 2,
  kvHeads: 1,
  feedForward: 512,
};

async function problemCode(path: string): Promise<string | undefined> {
  return (await problemFor(path))?.code;
}

async function problemFor(path: string) {
  try {
    await readGgufHeader(path, 'some/model.gguf');
    return undefined;
  } catch (error) {
    const problem = problemOf(error);
    assert.ok(problem, `an error without a problem: ${error}`);
    assert.ok(problem.text.includes('some/model.gguf'), problem.text);
    assert.ok(problem.fix.length > 10);
    return problem;
  }
}

test('reads tensors with their sizes, and the metadata', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const spec = modelSpec(SMALL, { 'general.name': { text: '모델 A' } });
  await writeGguf(path, spec);
  const { metadata, tensors, size } = await readGgufHeader(path, 'a.gguf');
  assert.deepEqual(tensors, parsed(spec).tensors);
  assert.equal(metadata.get('general.name'), '모델 A');
  assert.equal(metadata.get('llama.embedding_length'), 256);
  assert.equal(size, ggufHeader(spec).size);
});

test('version 2 reads as version 3', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const spec = modelSpec(SMALL);
  await writeGguf(path, { ...spec, version: 2 });
  assert.deepEqual((await readGgufHeader(path, 'a.gguf')).tensors, parsed(spec).tensors);
});

test('long lists and texts are passed over; short ones are kept', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const metadata: GgufSpec['metadata'] = {
    template: { text: 'x'.repeat(100_000) },
    words: { texts: Array.from({ length: 5000 }, (_, i) => `word ${i}`) },
    scores: { f32s: Array.from({ length: 5000 }, () => 1) },
    layers: { u32s: [1, 2, 3] },
    flags: { bools: [true, false] },
    names: { texts: ['one', 'two'] },
    last: { f32: 0.5 },
  };
  await writeGguf(path, { metadata, tensors: [] });
  const read = (await readGgufHeader(path, 'a.gguf')).metadata;
  assert.deepEqual(Object.fromEntries(read), {
    template: { count: 100_000 },
    words: { count: 5000 },
    scores: { count: 5000 },
    layers: [1, 2, 3],
    flags: [1, 0],
    names: ['one', 'two'],
    last: 0.5,
  });
});

test('a header of 17 MB is read without taking in its token tables', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const texts = Array.from({ length: 500_000 }, (_, i) => `token number ${i} of them all`);
  await writeGguf(path, {
    ...modelSpec(SMALL),
    metadata: { ...modelSpec(SMALL).metadata, table: { texts } },
  });
  const { metadata, tensors } = await readGgufHeader(path, 'a.gguf');
  assert.deepEqual(metadata.get('table'), { count: 500_000 });
  assert.equal(tensors.length, parsed(modelSpec(SMALL)).tensors.length);
});

test('a file cut anywhere is called cut off', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const spec = modelSpec(SMALL);
  const { header, size } = ggufHeader(spec);
  for (const length of [size - 64, header.length, header.length - 100, 1000, 100, 24, 0]) {
    await writeGguf(path, spec, length);
    const problem = await problemFor(path);
    assert.equal(problem?.code, 'model_truncated', `cut to ${length}`);
    assert.equal(problem?.params?.['have'], length);
  }
});

test('a file that is no GGUF says how it begins', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  await writeFile(path, `<!doctype html><html>${' '.repeat(1000)}</html>`);
  const page = await problemFor(path);
  assert.equal(page?.code, 'model_not_gguf');
  assert.ok(page?.text.includes('<!doctype html>'), page?.text);
  await writeFile(path, 'short');
  assert.equal(await problemCode(path), 'model_not_gguf');
  await writeFile(path, Buffer.alloc(4096));
  assert.ok((await problemFor(path))?.text.includes('zeros'));
});

test('another version, byte order or tensor type is named, never guessed', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const spec = modelSpec(SMALL);
  for (const version of [1, 4, 99]) {
    await writeGguf(path, { ...spec, version });
    const problem = await problemFor(path);
    assert.equal(problem?.code, 'model_version');
    assert.equal(problem?.params?.['version'], version);
  }
  await writeGguf(path, { ...spec, version: 0x03000000 });
  assert.equal(await problemCode(path), 'model_big_endian');
  await writeGguf(path, { ...spec, tensors: [{ name: 'new', type: 77, dims: [256, 2] }] });
  assert.equal(await problemCode(path), 'model_tensor_type');
});

test('absurd counts and lengths are refused without reading on', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const { header } = ggufHeader(modelSpec(SMALL));
  const broken = async (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(header);
    change(bytes);
    await writeFile(path, bytes);
    await truncate(path, 100_000_000);
    return problemCode(path);
  };
  const huge = 0xffff_ffff_ffffn;
  assert.equal(await broken((bytes) => bytes.writeBigUInt64LE(huge, 8)), 'model_damaged');
  assert.equal(await broken((bytes) => bytes.writeBigUInt64LE(huge, 16)), 'model_damaged');
  assert.equal(await broken((bytes) => bytes.writeBigUInt64LE(huge, 24)), 'model_damaged');
  const text = header.indexOf('general.architecture') + 'general.architecture'.length;
  assert.equal(await broken((bytes) => bytes.writeUInt32LE(200, text)), 'model_damaged');
  assert.equal(await broken((bytes) => bytes.writeBigUInt64LE(huge, text + 4)), 'model_truncated');
});

test('a table of tokens without end stops at the longest header', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const { header } = ggufHeader({ metadata: { table: { texts: ['a'] } }, tensors: [] });
  const bytes = Buffer.from(header);
  bytes.writeBigUInt64LE(1_000_000_000_000n, bytes.indexOf('table') + 'table'.length + 8);
  await writeFile(path, bytes);
  await truncate(path, 20_000_000_000);
  assert.equal(await problemCode(path), 'model_damaged');
});

test('a file that is not there is missing', async (t) => {
  assert.equal(await problemCode(join(await temporaryFolder(t), 'none.gguf')), 'model_missing');
});

test('property: damage of the header gives a problem or a header, nothing else', async (t) => {
  const path = join(await temporaryFolder(t), 'a.gguf');
  const spec = modelSpec({ ...SMALL, vocabulary: 10 });
  const { header, size } = ggufHeader(spec);
  const damage = fc.record({
    at: fc.nat(header.length - 1),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
  });
  await fc.assert(
    fc.asyncProperty(damage, async ({ at, bytes }) => {
      const damaged = Buffer.from(header);
      damaged.set(bytes.subarray(0, header.length - at), at);
      await writeFile(path, damaged);
      await truncate(path, size);
      await problemFor(path);
    }),
    { numRuns: 300 },
  );
});
