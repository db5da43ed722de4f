/** What a profile's settings make of llama-server's memory: its own defaults, and what the model's `env` says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contextCheckpoints, type Launch, launchOf } from '../../app/core/launch.ts';
import type { Profile } from '../../app/core/types.ts';
import { profile } from '../support/model.ts';

const gpu = (more: Partial<Profile> = {}) => profile('chat', 'gpu', { context: 4096, ...more });

test('without settings it is as llama-server does', () => {
  assert.deepEqual(launchOf(gpu()), {
    context: 8192,
    slots: 2,
    unified: false,
    microBatch: 512,
    bytesK: 2,
    bytesV: 2,
    flashAttention: true,
    fullWindow: false,
    repack: true,
    gpuLayers: Number.POSITIVE_INFINITY,
    devices: ['Vulkan0'],
    checkpoints: 2,
  });
});

describe('a setting', () => {
  const ROWS: readonly [string, string, keyof Launch, unknown][] = [
    ['LLAMA_ARG_UBATCH', '256', 'microBatch', 256],
    ['LLAMA_ARG_UBATCH', ' 256 ', 'microBatch', 256],
    ['LLAMA_ARG_UBATCH', '0', 'microBatch', 512],
    ['LLAMA_ARG_UBATCH', '1', 'microBatch', 1],
    ['LLAMA_ARG_UBATCH', '-256', 'microBatch', 512],
    ['LLAMA_ARG_UBATCH', '256k', 'microBatch', 512],
    ['LLAMA_ARG_UBATCH', '99999999999999999999', 'microBatch', 512],
    ['LLAMA_ARG_BATCH', '64', 'microBatch', 64],
    ['LLAMA_ARG_KV_UNIFIED', 'on', 'unified', true],
    ['LLAMA_ARG_KV_UNIFIED', 'auto', 'unified', false],
    ['LLAMA_ARG_FLASH_ATTN', ' OFF ', 'flashAttention', false],
    ['LLAMA_ARG_FLASH_ATTN', 'auto', 'flashAttention', true],
    ['LLAMA_ARG_SWA_FULL', 'enabled', 'fullWindow', true],
    ['LLAMA_ARG_REPACK', 'false', 'repack', false],
    ['LLAMA_ARG_CACHE_TYPE_K', 'f32', 'bytesK', 4],
    ['LLAMA_ARG_CACHE_TYPE_V', 'f32', 'bytesV', 4],
    ['LLAMA_ARG_CACHE_TYPE_V', 'unheard', 'bytesV', 2],
    ['LLAMA_ARG_N_GPU_LAYERS', '0', 'gpuLayers', 0],
    ['LLAMA_ARG_N_GPU_LAYERS', '12', 'gpuLayers', 12],
    ['LLAMA_ARG_CTX_CHECKPOINTS', '0', 'checkpoints', 0],
    ['LLAMA_ARG_CTX_CHECKPOINTS', '50', 'checkpoints', 50],
  ];
  for (const [name, value, key, made] of ROWS) {
    test(`${name}=${value} makes ${key} ${made}`, () => {
      assert.equal(launchOf(gpu({ env: { [name]: value } }))[key], made);
    });
  }
});

test('an embedding has one batch of its whole context, up to 2048, and keeps no points', () => {
  for (const [context, microBatch] of [
    [1024, 1024],
    [8192, 2048],
  ] as const) {
    const launch = launchOf(gpu({ task: 'embedding', context }));
    assert.deepEqual([launch.microBatch, launch.checkpoints], [microBatch, 0]);
  }
});

test('no layer is on a GPU for the CPU, nor where there is no GPU', () => {
  const env = { LLAMA_ARG_N_GPU_LAYERS: '12' };
  for (const own of [profile('chat', 'cpu', { env }), gpu({ env, gpu: null })])
    assert.equal(launchOf(own).gpuLayers, 0);
  const { gpu: card } = gpu();
  assert.equal(launchOf(profile('chat', 'cpu', { env, gpu: card })).gpuLayers, 0);
});

test('a point is kept for each 8192 tokens of a slot, and two more, up to 32', () => {
  const kept = (context: number) => contextCheckpoints(gpu({ context }));
  assert.deepEqual([8191, 8192, 131_072, 1_000_000].map(kept), [2, 3, 18, 32]);
});
