import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { elementBytes, type GgufValue, tensorBytes } from '../../app/core/gguf-types.ts';
import { contextBytesByLayer } from '../../app/core/kv-cache.ts';
import { launchOf } from '../../app/core/launch.ts';
import { shapeOf } from '../../app/core/model-shape.ts';
import { EIGHT_B, GEMMA3_4B, modelSpec, type Shape } from '../support/gguf-shapes.ts';
import type { Value } from '../support/gguf-writer.ts';
import { parsed } from '../support/parsed-gguf.ts';
import { profileOf } from '../support/profiles.ts';

const SMALL: Shape = { ...EIGHT_B, layers: 6, vocabulary: 512 };

function shape(change: Partial<Shape>) {
  return shapeOf(parsed(modelSpec({ ...SMALL, ...change })));
}

test('a block’s bytes follow the table of types; an unknown type has none', () => {
  assert.equal(tensorBytes(12, [4096, 4096]), (4096 / 256) * 144 * 4096);
  assert.equal(tensorBytes(0, [7]), 28);
  assert.equal(tensorBytes(99, [4096]), undefined);
  assert.equal(tensorBytes(12, [100, 4096]), undefined);
  assert.deepEqual(['f16', 'bf16', 'q8_0', 'q4_0', 'nonsense'].map(elementBytes), [
    2,
    2,
    1.0625,
    0.5625,
    undefined,
  ]);
});

test('window layers can have heads of another width', () => {
  const more: Record<string, Value> = {
    'attention.sliding_window': { u32: 512 },
    'attention.sliding_window_pattern': { bools: [true, false, true, false, true, false] },
    'attention.key_length_swa': { u32: 256 },
    'attention.value_length_swa': { u32: 256 },
    'attention.key_length': { u32: 512 },
    'attention.value_length': { u32: 512 },
    'attention.head_count_kv': { u32s: [8, 2, 8, 2, 8, 2] },
  };
  const layers = shape({ architecture: 'gemma4', more }).layers;
  assert.deepEqual([layers[0]?.k, layers[1]?.k], [8 * 256, 2 * 512]);
});

test('layers that share another layer’s cache keep none', () => {
  const shared = shape({ architecture: 'gemma4', more: { 'attention.shared_kv_layers': { u32: 4 } } });
  assert.deepEqual(
    shared.layers.map(({ k }) => k > 0),
    [true, true, false, false, false, false],
  );
  const older = shape({ architecture: 'gemma3n', layers: 30 });
  assert.equal(older.layers.filter(({ k }) => k > 0).length, 20);
});

test('layers that only predict further tokens keep no cache', () => {
  const { layers } = shape({ architecture: 'glm4moe', more: { nextn_predict_layers: { u32: 1 } } });
  assert.deepEqual([layers[4]?.k, layers[5]?.k], [1024, 0]);
});

test('cells are padded to 256; a window holds itself and one batch', () => {
  const gemma = shapeOf(parsed(modelSpec({ ...GEMMA3_4B, layers: 6, vocabulary: 512 })));
  const bytes = contextBytesByLayer(gemma, launchOf(profileOf({ context: 5000 })));
  const token = 2 * 4 * 256 * 2;
  assert.deepEqual(
    bytes,
    [1536, 1536, 1536, 1536, 1536, 5120].map((cells) => cells * token),
  );
  const whole = contextBytesByLayer(
    gemma,
    launchOf(profileOf({ context: 5000, env: { LLAMA_ARG_SWA_FULL: '1' } })),
  );
  assert.deepEqual(new Set(whole), new Set([5120 * token]));
});

test('a damaged count of layers asks for no more than the tensors have', () => {
  assert.equal(shape({ more: { block_count: { u32: 4_000_000_000 } } }).layers.length, 6);
});

/** A file with these values below its architecture's name, and tensors of these names. */
function fileOf(
  values: Readonly<Record<string, GgufValue>>,
  tensors: readonly string[] = ['blk.0.attn_k.weight'],
  architecture = 'llama',
) {
  const below = Object.entries(values).map(([key, value]) => [`${architecture}.${key}`, value] as const);
  return {
    metadata: new Map<string, GgufValue>([['general.architecture', architecture], ...below]),
    tensors: tensors.map((name) => ({ name, type: 0, dims: [4096, 512], bytes: 0 })),
    size: 0,
  };
}

const HEADS = { block_count: 1, embedding_length: 4096, 'attention.head_count': 32 };

test('a file that says nothing has nothing', () => {
  assert.deepEqual(shapeOf({ metadata: new Map(), tensors: [], size: 0 }), {
    architecture: 'unknown',
    encoder: false,
    layers: [],
    embedding: 0,
    feedForward: 0,
    vocabulary: 0,
    heads: 0,
    slidingWindow: 0,
    trainedContext: null,
  });
});

test('an 8B’s dimensions are those of its file', () => {
  const { layers, ...others } = shape({});
  assert.deepEqual(others, {
    architecture: 'llama',
    encoder: false,
    embedding: 4096,
    feedForward: 3 * 14336,
    vocabulary: 512,
    heads: 32,
    slidingWindow: 0,
    trainedContext: 131072,
  });
  assert.deepEqual(layers, Array(6).fill({ k: 1024, v: 1024, window: false, state: 0 }));
});

test('only tensors of the text’s own layers count: those of what it sees with have numbers too', () => {
  const names = ['blk.0.attn_k.weight', 'blk.1.attn_k.weight', 'v.blk.30.attn_k.weight', 'output.weight'];
  assert.equal(shapeOf(fileOf({ ...HEADS, block_count: 40 }, names)).layers.length, 2);
});

describe('a layer keeps of a token', () => {
  for (const [what, values, kept] of [
    [
      'heads of the width that is said',
      { 'attention.head_count_kv': 8, 'attention.key_length': 96, 'attention.value_length': 64 },
      [8 * 96, 8 * 64],
    ],
    [
      'heads of an equal part of the embedding where none is said',
      { 'attention.head_count_kv': 8 },
      [8 * 128, 8 * 128],
    ],
    ['as many heads as it asks with where none is said', {}, [4096, 4096]],
    ['nothing without heads', { 'attention.head_count': 0 }, [0, 0]],
    [
      'nothing where there are no heads to divide by',
      { 'attention.head_count': 0, 'attention.head_count_kv': 8 },
      [0, 0],
    ],
    ['nothing where it keeps no heads', { 'attention.head_count_kv': [0] }, [0, 0]],
    [
      'one latent K and no V, where its projections are folded in',
      { 'attention.kv_lora_rank': 512, 'rope.dimension_count': 64, 'attention.key_length_mla': 192 },
      [576, 0],
    ],
    [
      'the latent alone where it has no positions',
      { 'attention.kv_lora_rank': 512, 'attention.key_length_mla': 192 },
      [512, 0],
    ],
    [
      'whole heads where they are not folded in',
      {
        'attention.kv_lora_rank': 512,
        'rope.dimension_count': 64,
        'attention.key_length': 192,
        'attention.value_length': 128,
      },
      [32 * 192, 32 * 128],
    ],
    [
      'whole heads where there is no latent',
      { 'attention.key_length_mla': 192, 'attention.key_length': 192, 'attention.value_length': 128 },
      [32 * 192, 32 * 128],
    ],
  ] as const) {
    test(what, () => {
      const [layer] = shapeOf(fileOf({ ...HEADS, ...values })).layers;
      assert.deepEqual([layer?.k, layer?.v], kept);
    });
  }

  test('nothing where another kind of layer stands between those of latent attention', () => {
    const values = {
      'attention.kv_lora_rank': 512,
      'attention.key_length_mla': 192,
      'attention.head_count_kv': [0, 1],
    };
    const names = ['blk.0.attn_kv_a_mqa.weight', 'blk.1.attn_kv_a_mqa.weight'];
    const { layers } = shapeOf(fileOf({ ...HEADS, ...values, block_count: 2 }, names));
    assert.deepEqual(
      layers.map(({ k }) => k),
      [0, 512],
    );
  });

  test('what its own heads take: layers can differ', () => {
    const values = { ...HEADS, block_count: 3, 'attention.key_length': 128, 'attention.value_length': 128 };
    const names = [0, 1, 2].map((layer) => `blk.${layer}.attn_k.weight`);
    const kept = (more: Readonly<Record<string, GgufValue>>) =>
      shapeOf(fileOf({ ...values, ...more }, names)).layers.map(({ k }) => k);
    assert.deepEqual(kept({ 'attention.head_count_kv': [0, 8, 2] }), [0, 1024, 256]);
    assert.deepEqual(kept({ 'attention.head_count': [0, 32, 16] }), [0, 4096, 2048]);
  });
});

test('without a window no layer has one, whatever its architecture', () => {
  assert.ok(shape({ architecture: 'gemma3' }).layers.every(({ window }) => !window));
});

test('a layer that keeps nothing has no window', () => {
  const more: Record<string, Value> = {
    'attention.sliding_window': { u32: 512 },
    'attention.shared_kv_layers': { u32: 4 },
  };
  const { layers } = shape({ architecture: 'gemma2', more });
  assert.deepEqual(
    layers.map(({ window }) => window),
    [true, false, false, false, false, false],
  );
});

describe('a recurrent layer', () => {
  const own = { ...HEADS, 'attention.head_count_kv': 8 };
  const MAMBA = { 'ssm.conv_kernel': 4, 'ssm.inner_size': 1536, 'ssm.state_size': 128, 'ssm.group_count': 1 };
  const layerOf = (values: Readonly<Record<string, GgufValue>>, ...names: readonly string[]) =>
    shapeOf(
      fileOf(
        { ...own, ...values },
        names.map((name) => `blk.0.${name}.weight`),
      ),
    ).layers[0];

  for (const [tensor, values, state] of [
    ['ssm_conv1d', MAMBA, 3 * (1536 + 2 * 128) + 128 * 1536],
    ['ssm_conv1d_q', MAMBA, 3 * (1536 + 2 * 128) + 128 * 1536],
    ['ssm_in', { ...MAMBA, 'ssm.group_count': 8 }, 3 * (1536 + 16 * 128) + 128 * 1536],
    ['ssm_in', { ...MAMBA, 'ssm.conv_kernel': 0 }, 128 * 1536],
    ['shortconv.conv', { 'shortconv.l_cache': 3 }, 2 * 4096],
    ['time_mix_key', { 'wkv.head_size': 64, token_shift_count: 1 }, 4096 + 64 * 4096],
    ['time_mix_w1', { 'wkv.head_size': 64 }, 2 * 4096 + 64 * 4096],
  ] as const) {
    test(`of ${tensor} keeps ${state} numbers for each talk, and no cache`, () => {
      assert.deepEqual(layerOf(values, tensor), { k: 0, v: 0, window: false, state });
    });
  }

  test('that attends as well keeps both', () => {
    assert.deepEqual(layerOf({ 'shortconv.l_cache': 3 }, 'shortconv.conv', 'attn_k'), {
      k: 1024,
      v: 1024,
      window: false,
      state: 8192,
    });
  });

  test('keeps nothing of one beside it', () => {
    const names = ['blk.0.ssm_in.weight', 'blk.1.attn_k.weight'];
    const { layers } = shapeOf(fileOf({ ...own, ...MAMBA, block_count: 2 }, names));
    assert.deepEqual(
      layers.map(({ k, state }) => [k > 0, state > 0]),
      [
        [false, true],
        [true, false],
      ],
    );
  });
});

describe('the widest step', () => {
  const DENSE = 'blk.0.ffn_down.weight';
  const EXPERTS = 'blk.1.ffn_down_exps.weight';
  const values = {
    ...HEADS,
    block_count: 2,
    embedding_length: 2048,
    expert_used_count: 6,
    expert_feed_forward_length: 1408,
  };
  for (const [what, more, names, wide] of [
    ['is the feed-forward part of a dense model', { feed_forward_length: 10944 }, [DENSE], 3 * 10944],
    ['is the widest where layers differ', { feed_forward_length: [6912, 10944] }, [DENSE], 3 * 10944],
    [
      'is that of the dense layer before the experts',
      { feed_forward_length: 20000 },
      [DENSE, EXPERTS],
      60000,
    ],
    [
      'is that of all experts that work at once',
      { feed_forward_length: 10944 },
      [DENSE, EXPERTS],
      6 * (3 * 1408 + 2048),
    ],
    ['has no experts where there are none in the file', { feed_forward_length: 100 }, [DENSE], 300],
    [
      'is that of the shared experts',
      { expert_used_count: 1, expert_shared_count: 2 },
      [EXPERTS],
      3 * 2 * 1408 + 2048,
    ],
    [
      'is that of a shared expert of its own width',
      { expert_used_count: 1, expert_shared_count: 2, expert_shared_feed_forward_length: 5632 },
      [EXPERTS],
      3 * 5632 + 2048,
    ],
  ] as const) {
    test(what, () => {
      assert.equal(shapeOf(fileOf({ ...values, ...more }, names)).feedForward, wide);
    });
  }
});

describe('the vocabulary is counted', () => {
  for (const [what, tokens, tensors, values, count] of [
    ['by its tokens', ['a', 'b', 'c'], ['token_embd.weight'], { vocab_size: 7 }, 3],
    [
      'by their number where there are too many to keep',
      { count: 151936 },
      ['token_embd.weight'],
      {},
      151936,
    ],
    [
      'by the table that they are looked up in',
      undefined,
      ['output.weight', 'token_embd.weight'],
      { vocab_size: 7 },
      512,
    ],
    ['by what the file says', 'none', ['output.weight'], { vocab_size: 7 }, 7],
    ['as none', undefined, [], {}, 0],
  ] as const) {
    test(what, () => {
      const file = fileOf(values, tensors);
      if (tokens !== undefined) file.metadata.set('tokenizer.ggml.tokens', tokens);
      assert.equal(shapeOf(file).vocabulary, count);
    });
  }
});
