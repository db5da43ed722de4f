/**
 * The dimensions of a model that decide its memory, read from its metadata and tensor names. Keys and
 * defaults: the GGUF specification and what llama.cpp's loader does where a key is absent.
 */
import { elementOf, largest, type Metadata, numberOf, textOf } from './gguf-metadata.ts';
import type { Gguf } from './gguf-types.ts';
import { ENCODERS } from './model-kind.ts';
import { isWindowLayer } from './window-layers.ts';

/** What one layer keeps for each sequence. */
export interface LayerShape {
  /** Elements of K and of V for one token; 0: no KV cache in this layer. */
  readonly k: number;
  readonly v: number;
  /** Its cache holds only the sliding window. */
  readonly window: boolean;
  /** Elements (F32) of a recurrent state for one sequence; 0: none. */
  readonly state: number;
}

export interface ModelShape {
  readonly architecture: string;
  /** It attends both ways: it keeps no cache and scores no vocabulary. */
  readonly encoder: boolean;
  readonly layers: readonly LayerShape[];
  readonly embedding: number;
  /** F32 values a token that the widest feed-forward step holds at once; for the compute buffer. */
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Heads of the widest layer; for the compute buffer without flash attention. */
  readonly heads: number;
  /** Tokens of the sliding window; 0: none. */
  readonly slidingWindow: number;
  readonly trainedContext: number | null;
}

/** Gemma 3n keeps KV in its first 20 layers only; later ones reuse it. Newer files say so by a key. */
const GEMMA3N_KV_LAYERS = 20;

/** Reads the shape; a value that a file leaves out is taken as llama.cpp takes it, else as 0. */
export function shapeOf(gguf: Gguf): ModelShape {
  const meta = gguf.metadata;
  const architecture = textOf(meta, 'general.architecture') ?? 'unknown';
  const key = (name: string) => `${architecture}.${name}`;
  const layerCount = Math.min(numberOf(meta, key('block_count')) ?? 0, layersWithTensors(gguf));
  const reader: ShapeReader = {
    meta,
    key,
    architecture,
    layerCount,
    tensors: new Set(gguf.tensors.map((tensor) => tensor.name)),
    embedding: numberOf(meta, key('embedding_length')) ?? 0,
    window: numberOf(meta, key('attention.sliding_window')) ?? 0,
  };
  return {
    architecture,
    encoder: ENCODERS.has(architecture),
    layers: Array.from({ length: layerCount }, (_, layer) => layerShape(reader, layer)),
    embedding: reader.embedding,
    feedForward: Math.max(3 * largest(meta, key('feed_forward_length')), expertWidth(reader)),
    vocabulary: vocabularyOf(gguf, key),
    heads: largest(meta, key('attention.head_count')),
    slidingWindow: reader.window,
    trainedContext: numberOf(meta, key('context_length')) ?? null,
  };
}

/** One more than the highest layer that has a tensor: a damaged count cannot ask for more. */
function layersWithTensors({ tensors }: Gguf): number {
  return tensors.reduce((count, { name }) => {
    const layer = /^blk\.(\d{1,5})\./.exec(name)?.[1];
    return layer === undefined ? count : Math.max(count, Number(layer) + 1);
  }, 0);
}

interface ShapeReader {
  readonly meta: Metadata;
  readonly key: (name: string) => string;
  readonly architecture: string;
  readonly layerCount: number;
  readonly tensors: ReadonlySet<string>;
  readonly embedding: number;
  readonly window: number;
}

function layerShape(reader: ShapeReader, layer: number): LayerShape {
  const window = reader.window > 0 && isWindowLayer(reader.meta, reader.architecture, layer);
  const state = hasState(reader, layer) ? stateElements(reader) : 0;
  if (!hasCache(reader, layer)) return { k: 0, v: 0, window: false, state };
  return { ...cacheElements(reader, layer, window), window, state };
}

/** Elements of K and V that a token takes in a layer; multi-head latent attention keeps its K alone. */
function cacheElements(
  { meta, key, embedding }: ShapeReader,
  layer: number,
  window: boolean,
): { k: number; v: number } {
  const latent = numberOf(meta, key('attention.kv_lora_rank')) ?? 0;
  const absorbed = numberOf(meta, key('attention.key_length_mla')) !== undefined;
  if (latent > 0 && absorbed) return { k: latent + (numberOf(meta, key('rope.dimension_count')) ?? 0), v: 0 };
  const heads = elementOf(meta, key('attention.head_count'), layer) ?? 0;
  const kvHeads = elementOf(meta, key('attention.head_count_kv'), layer) ?? heads;
  const width = heads > 0 ? Math.floor(embedding / heads) : 0;
  const wide = (name: string) =>
    (window ? numberOf(meta, key(`${name}_swa`)) : undefined) ?? numberOf(meta, key(name)) ?? width;
  return {
    k: kvHeads * wide('attention.key_length'),
    v: kvHeads * wide('attention.value_length'),
  };
}

function hasCache(reader: ShapeReader, layer: number): boolean {
  const { meta, key, architecture, layerCount } = reader;
  if (ENCODERS.has(architecture)) return false;
  const heads = elementOf(meta, key('attention.head_count'), layer) ?? 0;
  if ((elementOf(meta, key('attention.head_count_kv'), layer) ?? heads) === 0) return false;
  const predicting = numberOf(meta, key('nextn_predict_layers')) ?? 0;
  if (layer >= layerCount - predicting) return false;
  const shared = numberOf(meta, key('attention.shared_kv_layers'));
  const keeping =
    shared !== undefined ? layerCount - shared : architecture === 'gemma3n' ? GEMMA3N_KV_LAYERS : layerCount;
  if (layer >= keeping) return false;
  return attends(reader, layer);
}

/** A layer with recurrent tensors attends only if it has a K projection of its own beside them. */
function attends(reader: ShapeReader, layer: number): boolean {
  if (!hasState(reader, layer)) return true;
  return reader.tensors.has(`blk.${layer}.attn_k.weight`);
}

function hasState({ tensors }: ShapeReader, layer: number): boolean {
  return ['ssm_conv1d', 'ssm_conv1d_q', 'ssm_in', 'shortconv.conv', 'time_mix_key', 'time_mix_w1'].some(
    (name) => tensors.has(`blk.${layer}.${name}.weight`),
  );
}

/** F32 elements of one sequence's state: convolution tail + state matrix (Mamba, Gated DeltaNet, RWKV, LFM2). */
function stateElements({ meta, key, embedding }: ShapeReader): number {
  const read = (name: string) => numberOf(meta, key(name)) ?? 0;
  const headSize = read('wkv.head_size');
  if (headSize > 0) return (numberOf(meta, key('token_shift_count')) ?? 2) * embedding + embedding * headSize;
  const shortConvolution = read('shortconv.l_cache');
  if (shortConvolution > 0) return embedding * (shortConvolution - 1);
  const inner = read('ssm.inner_size');
  const perHead = read('ssm.state_size');
  const tail = Math.max(read('ssm.conv_kernel') - 1, 0) * (inner + 2 * read('ssm.group_count') * perHead);
  return tail + perHead * inner;
}

/** Each working expert holds three widths and its own output. */
function expertWidth({ meta, key, embedding, tensors, layerCount }: ShapeReader): number {
  const isExpert = (_: unknown, layer: number) => tensors.has(`blk.${layer}.ffn_down_exps.weight`);
  if (!Array.from({ length: layerCount }).some(isExpert)) return 0;
  const read = (name: string) => numberOf(meta, key(name)) ?? 0;
  const width = read('expert_feed_forward_length');
  const shared = read('expert_shared_feed_forward_length') || read('expert_shared_count') * width;
  return Math.max(read('expert_used_count') * (3 * width + embedding), 3 * shared + embedding);
}

function vocabularyOf(gguf: Gguf, key: (name: string) => string): number {
  const tokens = gguf.metadata.get('tokenizer.ggml.tokens');
  if (Array.isArray(tokens)) return tokens.length;
  if (typeof tokens === 'object' && 'count' in tokens) return tokens.count;
  const embedded = gguf.tensors.find((tensor) => tensor.name === 'token_embd.weight')?.dims[1];
  return embedded ?? numberOf(gguf.metadata, key('vocab_size')) ?? 0;
}
