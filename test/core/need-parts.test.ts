/** Of what a need is made, and where each part of it lies: layers, matrices, caches, buffers, what is beside the model. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { computeBytes } from '../../app/core/compute-buffer.ts';
import { checkpointBytes, slotBytes } from '../../app/core/kv-cache.ts';
import { launchOf } from '../../app/core/launch.ts';
import { type LayerShape, shapeOf } from '../../app/core/model-shape.ts';
import { needOf } from '../../app/core/need.ts';
import type { Gpu, Need, Placement, Profile } from '../../app/core/types.ts';
import { EIGHT_B, SHAPES, type Shape } from '../support/gguf-shapes.ts';
import type { GgufSpec } from '../support/gguf-writer.ts';
import { bytesOf, fileOf, MIB, needFor } from '../support/needs.ts';
import { parsed } from '../support/parsed-gguf.ts';
import { profileOf, VULKAN } from '../support/profiles.ts';

const SMALL: Shape = { ...EIGHT_B, layers: 4, vocabulary: 4096 };

/** MiB of the KV cache by where it lies: 32 MiB a layer. */
function cacheOf(need: Need): Record<string, number> {
  const own = need.parts.filter(({ what }) => what === 'kv');
  return Object.fromEntries(own.map(({ device, bytes }) => [device, bytes / MIB]));
}

const TWO: Gpu = { ...VULKAN, kind: 'nvidia', memory: 'dedicated', devices: ['CUDA0', 'CUDA1'] };
describe('the 33 layers of an 8B, the output as the last one', () => {
  for (const [what, gpu, layers, cache] of [
    ['are all on the GPU', VULKAN, undefined, { Vulkan0: 1024 }],
    ['are all on the GPU where more is asked for', VULKAN, '99', { Vulkan0: 1024 }],
    ['are none on the GPU', VULKAN, '0', { host: 1024 }],
    ['are split: the first ones stay on the host', VULKAN, '17', { host: 512, Vulkan0: 512 }],
    ['are all but the first', VULKAN, '32', { host: 32, Vulkan0: 992 }],
    ['are the output alone', VULKAN, '1', { host: 1024 }],
    ['are shared evenly by two GPUs', TWO, undefined, { CUDA0: 17 * 32, CUDA1: 15 * 32 }],
    ['are split, and shared by two GPUs', TWO, '17', { host: 512, CUDA0: 9 * 32, CUDA1: 7 * 32 }],
  ] as const) {
    test(what, () => {
      const env: Record<string, string> = layers === undefined ? {} : { LLAMA_ARG_N_GPU_LAYERS: layers };
      assert.deepEqual(cacheOf(needFor(EIGHT_B, { placement: 'split', env, gpu })), cache);
    });
  }

  test('take their weights with them, the token table stays', () => {
    const weights = (layers: string, device: string) =>
      bytesOf(
        needFor(EIGHT_B, { placement: 'split', env: { LLAMA_ARG_N_GPU_LAYERS: layers } }),
        device,
        'weights',
      );
    const tensors = (pattern: RegExp) =>
      fileOf(EIGHT_B)
        .tensors.filter(({ name }) => pattern.test(name))
        .reduce((total, { bytes }) => total + bytes, 0);
    assert.equal(weights('1', 'Vulkan0'), tensors(/^output/));
    assert.equal(weights('2', 'Vulkan0'), tensors(/^output|^blk\.31\./));
    assert.equal(weights('33', 'host'), tensors(/^token_embd/));
  });

  test('are computed where they are; beside a GPU with all of them the host prepares the input', () => {
    const compute = (layers: string, device: string) =>
      bytesOf(
        needFor(EIGHT_B, { placement: 'split', env: { LLAMA_ARG_N_GPU_LAYERS: layers } }),
        device,
        'compute',
      );
    const whole = bytesOf(needFor(EIGHT_B), 'host', 'compute');
    assert.deepEqual([compute('0', 'host'), compute('0', 'Vulkan0')], [whole, 0]);
    for (const layers of ['1', '17', '32'])
      assert.deepEqual([compute(layers, 'host'), compute(layers, 'Vulkan0')], [whole, whole], layers);
    assert.equal(compute('33', 'Vulkan0'), whole);
    assert.ok(compute('33', 'host') < whole / 3);
  });

  test('are rewritten on the host only where no GPU is there to read them', () => {
    const repack = (layers: string) =>
      bytesOf(
        needFor(EIGHT_B, { placement: 'split', env: { LLAMA_ARG_N_GPU_LAYERS: layers } }),
        'host',
        'repack',
      );
    assert.deepEqual(['0', '17', '33'].map(repack), [0, 0, 0]);
    assert.ok(bytesOf(needFor(EIGHT_B), 'host', 'repack') > 3 * 1024 * MIB);
  });
});

describe('a matrix is rewritten', () => {
  const Q4_0 = 2;
  const need = (name: string, dims: readonly number[]) =>
    needOf({
      gguf: parsed({ metadata: {}, tensors: [{ name, type: Q4_0, dims }] }),
      projector: null,
      profile: profileOf(),
    });
  for (const [what, name, dims, is] of [
    ['where its rows come in eights', 'blk.0.ffn_up.weight', [256, 16], true],
    ['of each expert', 'blk.0.ffn_up_exps.weight', [256, 16, 4], true],
    ['not where they do not', 'blk.0.ffn_up.weight', [256, 12], false],
    ['not where it has one row', 'blk.0.ffn_norm.weight', [256], false],
    ['not where tokens are looked up in it', 'token_embd.weight', [256, 16], false],
    ['not where positions are', 'position_embd.weight', [256, 16], false],
  ] as const) {
    test(what, () => assert.equal(bytesOf(need(name, dims), 'host', 'repack') > 0, is));
  }
});

test('a GPU gets a copy of the token table alone, and of none where there is none', () => {
  const tensors = [
    { name: 'blk.0.attn_norm.weight', type: 0, dims: [64] },
    { name: 'token_embd.weight', type: 0, dims: [64, 512] },
  ];
  const device = (file: GgufSpec) =>
    bytesOf(
      needOf({ gguf: parsed(file), projector: null, profile: profileOf({ placement: 'gpu' }) }),
      'Vulkan0',
      'weights',
    );
  assert.equal(device({ metadata: {}, tensors }), 4 * 64 * 512 + 4 * 64);
  assert.equal(device({ metadata: {}, tensors: tensors.slice(0, 1) }), 4 * 64);
});

describe('a GPU’s own memory beside the model', () => {
  const base = (change: Partial<Profile>) =>
    Object.fromEntries(
      needFor(SMALL, change)
        .parts.filter(({ what }) => what === 'base')
        .map(({ device, bytes }) => [device, bytes / MIB]),
    );
  for (const [kind, mib] of [
    ['nvidia', 512],
    ['amd', 512],
    ['intel', 64],
    ['vulkan', 64],
  ] as const) {
    test(`is ${mib} MiB of ${kind}`, () => {
      assert.deepEqual(base({ placement: 'gpu', gpu: { ...VULKAN, kind } }), { host: 300, Vulkan0: mib });
    });
  }

  test('is taken of each that is used, and of none that is not', () => {
    assert.deepEqual(base({ placement: 'gpu', gpu: TWO }), { host: 300, CUDA0: 512, CUDA1: 512 });
    assert.deepEqual(base({}), { host: 300 });
    const env = { LLAMA_ARG_N_GPU_LAYERS: '0' };
    assert.deepEqual(base({ placement: 'gpu', env }), { host: 300 });
  });
});

describe('the parts of a need, and where each figure comes from', () => {
  const projector = parsed({
    metadata: {},
    tensors: [
      { name: 'v.blk.0.attn_q.weight', type: 1, dims: [1024, 1024] },
      { name: 'v.blk.0.attn_k.weight', type: 1, dims: [1024, 1024] },
    ],
  });
  const told = (placement: Placement) =>
    needOf({
      gguf: fileOf({ ...SHAPES.GEMMA3_4B, layers: 6, vocabulary: 4096 }),
      projector,
      profile: profileOf({ placement }),
    }).parts.map(({ device, what, source }) => `${device} ${what}: ${source}`);

  test('on the CPU', () => {
    assert.deepEqual(told('cpu'), [
      'host weights: gguf',
      'host repack: gguf',
      'host kv: gguf',
      'host kv: gguf',
      'host compute: gguf',
      'host projector: gguf',
      'host prompt_cache: fixed',
      'host base: fixed',
    ]);
  });

  test('on a GPU', () => {
    assert.deepEqual(told('gpu'), [
      'host weights: gguf',
      'Vulkan0 weights: gguf',
      'Vulkan0 kv: gguf',
      'host kv: gguf',
      'Vulkan0 compute: gguf',
      'host compute: gguf',
      'Vulkan0 projector: gguf',
      'host prompt_cache: fixed',
      'host base: fixed',
      'Vulkan0 base: fixed',
    ]);
  });

  test('a projector takes its weights and 256 MiB to work in', () => {
    const need = needOf({ gguf: fileOf(SMALL), projector, profile: profileOf() });
    assert.equal(bytesOf(need, 'host', 'projector'), (4 + 256) * MIB);
  });
});

describe('one talk’s whole state', () => {
  const slot = (shape: Shape, change: Partial<Profile> = {}) =>
    slotBytes(shapeOf(fileOf(shape)), launchOf(profileOf(change))) / MIB;

  test('is the cache of its own context, however many talks share it', () => {
    assert.deepEqual(
      [1, 4].map((parallel) => slot(EIGHT_B, { parallel })),
      [1024, 1024],
    );
    const env = { LLAMA_ARG_KV_UNIFIED: '1' };
    assert.equal(slot(EIGHT_B, { parallel: 4, env }), 1024);
  });

  test('four of them with their saved points are what the prompt cache may hold', () => {
    const shape = { ...SHAPES.GEMMA3_4B, layers: 6, vocabulary: 4096 };
    const change = { context: 2048 };
    const points = (2 * checkpointBytes(shapeOf(fileOf(shape)), launchOf(profileOf(change)))) / MIB;
    const cache = bytesOf(needFor(shape, change), 'host', 'prompt_cache') / MIB;
    assert.equal(cache, Math.ceil(4 * (slot(shape, change) + points)));
    assert.ok(points > 0 && cache < 512);
  });
});

test('windows that keep the whole context need no saved points; recurrent layers do', () => {
  const points = (shape: Shape, env: Record<string, string>) =>
    checkpointBytes(shapeOf(fileOf({ ...shape, vocabulary: 4096 })), launchOf(profileOf({ env })));
  const whole = { LLAMA_ARG_SWA_FULL: '1' };
  assert.equal(points(SHAPES.GEMMA3_4B, whole), 0);
  assert.equal(points(SHAPES.QWEN35_9B, whole), points(SHAPES.QWEN35_9B, {}));
});

test('without flash attention the latent queries of a model count, also where its first layers are recurrent', () => {
  const launch = launchOf(profileOf({ env: { LLAMA_ARG_FLASH_ATTN: 'off' } }));
  const latent = { ...shapeOf(fileOf(SHAPES.DEEPSEEK_LITE)) };
  const recurrent = { k: 0, v: 0, window: false, state: 1 };
  const bytes = (layers: readonly LayerShape[]) =>
    computeBytes({ ...latent, layers }, launch, 'chat').map((one) => one.bytes);
  assert.deepEqual(bytes([recurrent, ...latent.layers]), bytes(latent.layers));
  assert.ok((bytes(latent.layers)[0] ?? 0) > (bytes([recurrent])[0] ?? 0));
});
