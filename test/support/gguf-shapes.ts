/**
 * Models of well-known shapes, as headers that llama.cpp itself accepts.
 */
import type { GgufSpec, TensorSpec, Value } from './gguf-writer.ts';

export const F32 = 0;
export const F16 = 1;
export const Q4_0 = 2;
export const Q4_1 = 3;
export const Q8_0 = 8;
export const Q4_K = 12;
export const Q6_K = 14;

export interface Shape {
  readonly architecture: string;
  readonly layers: number;
  readonly embedding: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headWidth: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Type of the matrices; norms are F32. */
  readonly type: number;
  readonly outputType?: number;
  /** Without an output matrix of its own. */
  readonly tied?: boolean;
  readonly trainedContext?: number;
  /** Kinds that a token can be of, where the model tells them apart. */
  readonly tokenTypes?: number;
  /** Tensors beside the token table, instead of the output's norm. */
  readonly inputs?: readonly TensorSpec[];
  /** More metadata, below the architecture's name. */
  readonly more?: Readonly<Record<string, Value>>;
  /** More tensors of each layer. */
  readonly layerTensors?: (layer: number) => readonly TensorSpec[];
  /** All tensors of a layer, instead of the usual ones. */
  readonly wholeLayer?: (layer: number) => readonly TensorSpec[];
}

/** 32 layers, 8 KV heads of 128: the usual 8B. */
export const EIGHT_B: Shape = {
  architecture: 'llama',
  layers: 32,
  embedding: 4096,
  heads: 32,
  kvHeads: 8,
  headWidth: 128,
  feedForward: 14336,
  vocabulary: 128256,
  type: Q4_K,
  outputType: Q6_K,
  trainedContext: 131072,
};

/** 34 layers, every sixth attends to all, the others to 1024 tokens. */
export const GEMMA3_4B: Shape = {
  architecture: 'gemma3',
  layers: 34,
  embedding: 2560,
  heads: 8,
  kvHeads: 4,
  headWidth: 256,
  feedForward: 10240,
  vocabulary: 262144,
  type: Q4_0,
  outputType: Q6_K,
  tied: true,
  trainedContext: 131072,
  more: {
    'attention.sliding_window': { u32: 1024 },
    'rope.freq_base': { f32: 1_000_000 },
  },
  layerTensors: (layer) => [
    { name: `blk.${layer}.post_attention_norm.weight`, type: F32, dims: [2560] },
    { name: `blk.${layer}.post_ffw_norm.weight`, type: F32, dims: [2560] },
    { name: `blk.${layer}.attn_q_norm.weight`, type: F32, dims: [256] },
    { name: `blk.${layer}.attn_k_norm.weight`, type: F32, dims: [256] },
  ],
};

/** 24 of 32 layers are recurrent, every fourth attends (4 KV heads of 256). */
export const QWEN35_9B: Shape = {
  architecture: 'qwen35',
  layers: 32,
  embedding: 4096,
  heads: 16,
  kvHeads: 4,
  headWidth: 256,
  feedForward: 12288,
  vocabulary: 248320,
  type: Q4_K,
  outputType: Q6_K,
  trainedContext: 262144,
  more: {
    'ssm.conv_kernel': { u32: 4 },
    'ssm.inner_size': { u32: 4096 },
    'ssm.state_size': { u32: 128 },
    'ssm.time_step_rank': { u32: 32 },
    'ssm.group_count': { u32: 16 },
    full_attention_interval: { u32: 4 },
    'rope.dimension_count': { u32: 64 },
    'rope.dimension_sections': { i32s: [11, 11, 10, 0] },
  },
  wholeLayer: (layer) => {
    const tensor = (name: string, type: number, ...dims: number[]): TensorSpec => ({
      name: `blk.${layer}.${name}`,
      type,
      dims,
    });
    const attention =
      (layer + 1) % 4 === 0
        ? [
            tensor('attn_q.weight', Q4_K, 4096, 256 * 16 * 2),
            tensor('attn_k.weight', Q4_K, 4096, 1024),
            tensor('attn_v.weight', Q4_K, 4096, 1024),
            tensor('attn_output.weight', Q4_K, 4096, 4096),
            tensor('attn_q_norm.weight', F32, 256),
            tensor('attn_k_norm.weight', F32, 256),
          ]
        : [
            tensor('attn_qkv.weight', Q4_K, 4096, 8192),
            tensor('attn_gate.weight', Q4_K, 4096, 4096),
            tensor('ssm_conv1d.weight', F32, 4, 8192),
            tensor('ssm_dt.bias', F32, 32),
            tensor('ssm_a', F32, 32),
            tensor('ssm_beta.weight', Q4_K, 4096, 32),
            tensor('ssm_alpha.weight', Q4_K, 4096, 32),
            tensor('ssm_norm.weight', F32, 128),
            tensor('ssm_out.weight', Q4_K, 4096, 4096),
          ];
    return [
      tensor('attn_norm.weight', F32, 4096),
      tensor('post_attention_norm.weight', F32, 4096),
      ...attention,
      tensor('ffn_gate.weight', Q4_K, 4096, 12288),
      tensor('ffn_up.weight', Q4_K, 4096, 12288),
      tensor('ffn_down.weight', Q4_K, 12288, 4096),
    ];
  },
};

/** 128 experts of which 8 work, 48 layers, 4 KV heads of 128. */
export const QWEN3_30B_A3B: Shape = {
  architecture: 'qwen3moe',
  layers: 48,
  embedding: 2048,
  heads: 32,
  kvHeads: 4,
  headWidth: 128,
  feedForward: 6144,
  vocabulary: 151936,
  type: Q4_K,
  outputType: Q6_K,
  trainedContext: 262144,
  more: {
    expert_count: { u32: 128 },
    expert_used_count: { u32: 8 },
    expert_feed_forward_length: { u32: 768 },
  },
  wholeLayer: (layer) => {
    const tensor = (name: string, type: number, ...dims: number[]): TensorSpec => ({
      name: `blk.${layer}.${name}.weight`,
      type,
      dims,
    });
    return [
      tensor('attn_norm', F32, 2048),
      tensor('attn_q', Q4_K, 2048, 4096),
      tensor('attn_k', Q4_K, 2048, 512),
      tensor('attn_v', Q4_K, 2048, 512),
      tensor('attn_output', Q4_K, 4096, 2048),
      tensor('attn_q_norm', F32, 128),
      tensor('attn_k_norm', F32, 128),
      tensor('ffn_norm', F32, 2048),
      tensor('ffn_gate_inp', F32, 2048, 128),
      tensor('ffn_gate_exps', Q4_K, 2048, 768, 128),
      tensor('ffn_up_exps', Q4_K, 2048, 768, 128),
      tensor('ffn_down_exps', Q4_K, 768, 2048, 128),
    ];
  },
};

/** Dense layers with multi-head latent attention: 512 + 64 elements a token and layer, shared by all heads. */
export const DEEPSEEK_LITE: Shape = {
  architecture: 'deepseek2',
  layers: 27,
  embedding: 2048,
  heads: 16,
  kvHeads: 1,
  headWidth: 576,
  feedForward: 10944,
  vocabulary: 102400,
  type: Q8_0,
  outputType: Q8_0,
  trainedContext: 163840,
  more: {
    leading_dense_block_count: { u32: 27 },
    'attention.kv_lora_rank': { u32: 512 },
    'attention.key_length': { u32: 576 },
    'attention.value_length': { u32: 512 },
    'attention.key_length_mla': { u32: 192 },
    'attention.value_length_mla': { u32: 128 },
    'rope.dimension_count': { u32: 64 },
    expert_count: { u32: 64 },
    expert_used_count: { u32: 6 },
    expert_feed_forward_length: { u32: 1408 },
    expert_shared_count: { u32: 2 },
    expert_weights_scale: { f32: 1 },
    'rope.scaling.yarn_log_multiplier': { f32: 0.0707 },
  },
  wholeLayer: (layer) => {
    const tensor = (name: string, type: number, ...dims: number[]): TensorSpec => ({
      name: `blk.${layer}.${name}.weight`,
      type,
      dims,
    });
    return [
      tensor('attn_norm', F32, 2048),
      tensor('attn_q', Q8_0, 2048, 16 * 192),
      tensor('attn_kv_a_mqa', Q8_0, 2048, 576),
      tensor('attn_kv_a_norm', F32, 512),
      tensor('attn_k_b', Q8_0, 128, 512, 16),
      tensor('attn_v_b', Q8_0, 512, 128, 16),
      tensor('attn_output', Q8_0, 16 * 128, 2048),
      tensor('ffn_norm', F32, 2048),
      tensor('ffn_gate', Q8_0, 2048, 10944),
      tensor('ffn_up', Q8_0, 2048, 10944),
      tensor('ffn_down', Q8_0, 10944, 2048),
    ];
  },
};

/** Encodes only: attends both ways, keeps no cache, has no output matrix; the vocabulary of many languages. */
export const BERT_LARGE: Shape = {
  architecture: 'bert',
  layers: 24,
  embedding: 1024,
  heads: 16,
  kvHeads: 16,
  headWidth: 64,
  feedForward: 4096,
  vocabulary: 250002,
  type: F16,
  tied: true,
  trainedContext: 8192,
  more: {
    'attention.causal': { bool: false },
    'attention.layer_norm_epsilon': { f32: 1e-5 },
    pooling_type: { u32: 2 },
  },
  tokenTypes: 1,
  inputs: [
    { name: 'token_types.weight', type: F32, dims: [1024, 1] },
    { name: 'position_embd.weight', type: F32, dims: [1024, 8192] },
    { name: 'token_embd_norm.weight', type: F32, dims: [1024] },
    { name: 'token_embd_norm.bias', type: F32, dims: [1024] },
  ],
  wholeLayer: (layer) => {
    const tensor = (name: string, type: number, ...dims: number[]): TensorSpec => ({
      name: `blk.${layer}.${name}`,
      type,
      dims,
    });
    const withBias = (name: string, inputs: number, outputs: number) => [
      tensor(`${name}.weight`, F16, inputs, outputs),
      tensor(`${name}.bias`, F32, outputs),
    ];
    const norm = (name: string) => [tensor(`${name}.weight`, F32, 1024), tensor(`${name}.bias`, F32, 1024)];
    return [
      ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].flatMap((name) => withBias(name, 1024, 1024)),
      ...norm('attn_output_norm'),
      ...withBias('ffn_up', 1024, 4096),
      ...withBias('ffn_down', 4096, 1024),
      ...norm('layer_output_norm'),
    ];
  },
};

export type ShapeName =
  | 'EIGHT_B'
  | 'GEMMA3_4B'
  | 'QWEN35_9B'
  | 'QWEN3_30B_A3B'
  | 'DEEPSEEK_LITE'
  | 'BERT_LARGE';
export const SHAPES: Readonly<Record<ShapeName, Shape>> = {
  EIGHT_B,
  GEMMA3_4B,
  QWEN35_9B,
  QWEN3_30B_A3B,
  DEEPSEEK_LITE,
  BERT_LARGE,
};

/** The file of a shape. */
export function modelSpec(shape: Shape, general: Readonly<Record<string, Value>> = {}): GgufSpec {
  const { architecture: arch, embedding, heads, kvHeads, headWidth, feedForward, vocabulary } = shape;
  const below = (more: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(more).map(([key, value]) => [`${arch}.${key}`, value]));
  return {
    metadata: {
      'general.architecture': { text: arch },
      'general.type': { text: 'model' },
      ...general,
      ...below({
        context_length: { u32: shape.trainedContext ?? 8192 },
        embedding_length: { u32: embedding },
        block_count: { u32: shape.layers },
        feed_forward_length: { u32: feedForward },
        'attention.head_count': { u32: heads },
        'attention.head_count_kv': { u32: kvHeads },
        'attention.key_length': { u32: headWidth },
        'attention.value_length': { u32: headWidth },
        'attention.layer_norm_rms_epsilon': { f32: 1e-5 },
        'rope.dimension_count': { u32: headWidth },
        ...shape.more,
      }),
      ...tokenizer(vocabulary),
      ...(shape.tokenTypes && { 'tokenizer.ggml.token_type_count': { u32: shape.tokenTypes } }),
    },
    tensors: [
      { name: 'token_embd.weight', type: shape.outputType ?? shape.type, dims: [embedding, vocabulary] },
      ...(shape.inputs ?? [{ name: 'output_norm.weight', type: F32, dims: [embedding] }]),
      ...(shape.tied
        ? []
        : [{ name: 'output.weight', type: shape.outputType ?? shape.type, dims: [embedding, vocabulary] }]),
      ...Array.from({ length: shape.layers }, (_, layer) => layerTensors(shape, layer)).flat(),
    ],
  };
}

function layerTensors(shape: Shape, layer: number): readonly TensorSpec[] {
  if (shape.wholeLayer !== undefined) return shape.wholeLayer(layer);
  const { embedding, heads, kvHeads, headWidth, feedForward, type } = shape;
  const matrix = (name: string, inputs: number, outputs: number): TensorSpec => ({
    name: `blk.${layer}.${name}.weight`,
    type,
    dims: [inputs, outputs],
  });
  const norm = (name: string): TensorSpec => ({
    name: `blk.${layer}.${name}.weight`,
    type: F32,
    dims: [embedding],
  });
  return [
    norm('attn_norm'),
    matrix('attn_q', embedding, heads * headWidth),
    matrix('attn_k', embedding, kvHeads * headWidth),
    matrix('attn_v', embedding, kvHeads * headWidth),
    matrix('attn_output', heads * headWidth, embedding),
    norm('ffn_norm'),
    matrix('ffn_gate', embedding, feedForward),
    matrix('ffn_up', embedding, feedForward),
    matrix('ffn_down', feedForward, embedding),
    ...(shape.layerTensors?.(layer) ?? []),
  ];
}

/** A vocabulary of the right size: byte tokens, then numbered words. */
function tokenizer(vocabulary: number): Record<string, Value> {
  const byte = (n: number) => `<0x${n.toString(16).toUpperCase().padStart(2, '0')}>`;
  const tokens = Array.from({ length: vocabulary }, (_, i) =>
    i === 0 ? '<unk>' : i === 1 ? '<s>' : i === 2 ? '</s>' : i < 259 ? byte(i - 3) : `\u2581word${i}`,
  );
  const types = tokens.map((_, i) => (i === 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1));
  return {
    'tokenizer.ggml.model': { text: 'llama' },
    'tokenizer.ggml.tokens': { texts: tokens },
    'tokenizer.ggml.scores': { f32s: tokens.map(() => 0) },
    'tokenizer.ggml.token_type': { i32s: types },
    'tokenizer.ggml.bos_token_id': { u32: 1 },
    'tokenizer.ggml.eos_token_id': { u32: 2 },
  };
}
