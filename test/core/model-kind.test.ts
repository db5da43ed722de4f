/** What a file is, by what it says of itself and by its name, and which projector goes with which model. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Gguf, GgufValue } from '../../app/core/gguf-types.ts';
import {
  classify,
  ENCODERS,
  pairedProjector,
  projectorFits,
  projectorWidths,
} from '../../app/core/model-kind.ts';
import { shapeOf } from '../../app/core/model-shape.ts';
import { EIGHT_B, F16, modelSpec } from '../support/gguf-shapes.ts';
import type { TensorSpec, Value } from '../support/gguf-writer.ts';
import { parsed } from '../support/parsed-gguf.ts';

function says(metadata: Readonly<Record<string, GgufValue>>): Gguf {
  return { metadata: new Map(Object.entries(metadata)), tensors: [], size: 0 };
}

const llama = says({ 'general.architecture': 'llama' });

describe('by its name', () => {
  for (const [file, kind] of [
    ['qwen-8b-q4_k_m.gguf', 'model'],
    ['mmproj-F16.gguf', 'projector'],
    ['Ministral-3-3B-Instruct-2512-BF16-mmproj.gguf', 'projector'],
    ['qwen/MMPROJ-F16.gguf', 'projector'],
    ['mmproj-of-all/qwen-8b.gguf', 'model'],
    ['imatrix.gguf', 'other'],
    ['qwen-8b.imatrix.gguf', 'other'],
    ['qwen-8b-IMATRIX-v2.gguf', 'other'],
    ['bartowski_imatrix_of-qwen.gguf', 'other'],
    ['qwen-imatrixed.gguf', 'model'],
    ['imatrix/qwen-8b.gguf', 'model'],
    ['mtp-qwen-27b.gguf', 'other'],
    ['heads/eagle3-qwen.gguf', 'other'],
    ['dflash-qwen.gguf', 'other'],
    ['DSpark-qwen.gguf', 'other'],
    ['qwen-27b-mtp-q4.gguf', 'model'],
    ['mtplx.gguf', 'model'],
  ] as const) {
    test(`${file} is a ${kind}`, () => assert.equal(classify(file, llama).kind, kind));
  }
});

describe('by what it says', () => {
  for (const [what, metadata, kind] of [
    ['nothing at all', {}, { kind: 'model', pooling: 'none' }],
    ['a model', { 'general.type': 'model' }, { kind: 'model', pooling: 'none' }],
    ['a projector', { 'general.type': 'mmproj' }, { kind: 'projector' }],
    ['clip, which projectors are made of', { 'general.architecture': 'clip' }, { kind: 'projector' }],
    ['an adapter', { 'general.type': 'adapter' }, { kind: 'other', why: 'general.type is adapter' }],
  ] as const) {
    test(`${what}: ${JSON.stringify(kind)}`, () =>
      assert.deepEqual(classify('a.gguf', says(metadata)), kind));
  }

  test('a companion says that its name told it', () => {
    assert.deepEqual(classify('imatrix.gguf', llama), { kind: 'other', why: 'a companion file by its name' });
  });

  test('how its vectors are pooled tells what a model is for', () => {
    const pooled = (type: number) =>
      classify('a.gguf', says({ 'general.architecture': 'llama', 'llama.pooling_type': type }));
    assert.deepEqual([0, 1, 2, 3, 4].map(pooled), [
      { kind: 'model', pooling: 'none' },
      { kind: 'model', pooling: 'embedding' },
      { kind: 'model', pooling: 'embedding' },
      { kind: 'model', pooling: 'embedding' },
      { kind: 'model', pooling: 'rerank' },
    ]);
  });
});

describe('an architecture that llama.cpp gives no cache', () => {
  const small = { ...EIGHT_B, layers: 1, vocabulary: 64 };
  const kept = (architecture: string) =>
    shapeOf(parsed(modelSpec({ ...small, architecture }))).layers.map(({ k, v }) => k + v);
  for (const architecture of [
    'bert',
    'nomic-bert',
    'nomic-bert-moe',
    'neo-bert',
    'jina-bert-v2',
    'jina-bert-v3',
    'modern-bert',
    'gemma-embedding',
  ]) {
    test(`${architecture} embeds and keeps none`, () => {
      const own = says({ 'general.architecture': architecture });
      assert.deepEqual(classify('a.gguf', own), { kind: 'model', pooling: 'embedding' });
      assert.deepEqual(kept(architecture), [0]);
    });
  }

  test('is not one that talks', () => {
    assert.deepEqual(kept('gemma3'), [2048]);
    assert.ok(!ENCODERS.has('gemma3'));
  });
});

describe('a projector', () => {
  for (const [what, model, projectors, expected] of [
    ['of another folder is none', 'z/qwen.gguf', ['x/mmproj-qwen.gguf', 'mmproj-qwen.gguf'], null],
    ['of the folder above is none', 'qwen.gguf', ['x/mmproj-qwen.gguf'], null],
    [
      'that is the only one is taken, whatever its name',
      'y/qwen.gguf',
      ['y/mmproj-F16.gguf'],
      'y/mmproj-F16.gguf',
    ],
    [
      'is the one whose name is the model’s',
      'x/qwen-vl.gguf',
      ['x/mmproj-gemma.gguf', 'x/mmproj-qwen.gguf'],
      'x/mmproj-qwen.gguf',
    ],
    [
      'is found in the folder of all models too',
      'qwen-vl.gguf',
      ['mmproj-gemma.gguf', 'mmproj-qwen.gguf'],
      'mmproj-qwen.gguf',
    ],
    [
      'may be written otherwise',
      'Qwen_VL.gguf',
      ['mmproj-gemma.gguf', 'mmproj--QWEN.gguf'],
      'mmproj--QWEN.gguf',
    ],
    [
      'is the first by name of those that go as well',
      'qwen.gguf',
      ['mmproj-c.gguf', 'mmproj-a.gguf', 'mmproj-b.gguf'],
      'mmproj-a.gguf',
    ],
    [
      'of the same precision is none the nearer',
      'llava-Q4_K_M.gguf',
      ['mmproj-minicpm-Q4_K_M.gguf', 'mmproj-llava-F16.gguf'],
      'mmproj-llava-F16.gguf',
    ],
    [
      'of the same half precision is none the nearer',
      'llava-F16.gguf',
      ['mmproj-a-F16.gguf', 'mmproj-llava-Q8_0.gguf'],
      'mmproj-llava-Q8_0.gguf',
    ],
    [
      'of another size of the same family is not the nearer for its precision',
      'gemma-3-4b-it-BF16.gguf',
      ['mmproj-gemma-3-12b-it-BF16.gguf', 'mmproj-gemma-3-4b-it-Q4_K_M.gguf'],
      'mmproj-gemma-3-4b-it-Q4_K_M.gguf',
    ],
  ] as const) {
    test(what, () => assert.equal(pairedProjector(model, projectors), expected));
  }

  const fits = (metadata: Readonly<Record<string, Value>>, tensors: readonly TensorSpec[], width: number) =>
    projectorFits(projectorWidths(parsed({ metadata, tensors })), width);
  const matrix = (name: string): TensorSpec => ({ name, type: F16, dims: [1024, 4096] });
  const wide = (kind: string, width: number) => ({ [`clip.${kind}.projection_dim`]: { u32: width } });
  for (const [what, metadata, tensors, width, expected] of [
    ['of the model’s width fits', wide('vision', 4096), [], 4096, true],
    ['of another width does not', wide('vision', 4096), [], 2560, false],
    ['that hears has its width as well', wide('audio', 4096), [], 4096, true],
    [
      'that hears and sees fits by either',
      { ...wide('audio', 4096), ...wide('vision', 768) },
      [],
      4096,
      true,
    ],
    [
      'of an older kind has the width of what leads to the model',
      wide('vision', 768),
      [matrix('mm.2.weight')],
      4096,
      true,
    ],
    ['of an older kind fits no other', wide('vision', 768), [matrix('mm.2.weight')], 2560, false],
    [
      'has not the width of its inner matrices',
      wide('vision', 768),
      [matrix('v.blk.0.attn_q.weight')],
      4096,
      false,
    ],
    ['that does not say may fit', {}, [matrix('mm.2.weight')], 2560, true],
    ['of a model that does not say may fit', wide('vision', 4096), [], 0, true],
  ] as const) {
    test(what, () => assert.equal(fits(metadata, tensors, width), expected));
  }
});
