import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementBytes, tensorBytes } from '../../app/core/gguf-types.ts';
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

test('a layer without KV heads keeps no cache', () => {
  const more: Record<string, Value> = { 'attention.head_count_kv': { u32s: [0, 8, 0, 8, 0, 8] } };
  const layers = shape({ architecture: 'lfm2', more }).layers;
  assert.deepEqual(
    layers.map(({ k }) => k),
    [0, 1024, 0, 1024, 0, 1024],
  );
});

test('short convolutions and Mamba layers keep a state for each sequence', () => {
  const state = (more: Record<string, Value>, tensor: string) => {
    const layerTensors = (layer: number) => [
      { name: `blk.${layer}.${tensor}.weight`, type: 0, dims: [4, 64] },
    ];
    return shape({ architecture: 'falcon-h1', more, layerTensors }).layers[0];
  };
  assert.deepEqual(state({ 'shortconv.l_cache': { u32: 3 } }, 'shortconv.conv')?.state, 4096 * 2);
  const mamba: Record<string, Value> = {
    'ssm.conv_kernel': { u32: 4 },
    'ssm.inner_size': { u32: 1536 },
    'ssm.state_size': { u32: 128 },
    'ssm.group_count': { u32: 1 },
  };
  const both = state(mamba, 'ssm_conv1d');
  assert.equal(both?.state, 3 * (1536 + 2 * 128) + 128 * 1536);
  assert.equal(both?.k, 1024, 'a layer with both keeps both');
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
