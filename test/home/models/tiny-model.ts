import { ggufFile, type Tensor, type Value } from './gguf.ts';
import { floatBytes, halfBytes } from './half.ts';
import { type Language, special, tinyLanguage } from './tiny-language.ts';

const width = 256;
const layers = 4;
const heads = 4;
const hidden = 512;
const contextLength = 32768;
/** Length of a token's own direction, against which the layers' additions are noise that depends on the context. */
const tokenScale = 4;
/** How much each layer adds. Large enough that the choice among followers varies, small enough to keep to them. */
const layerScale = 0.06;
/** Makes the logit of a follower about 20, that of any other token about 0. */
const outputScale = 1.4;
/** Holds the end of the turn back a little, so that answers have some sentences: 100 tokens on average. */
const endScale = 0.98 * outputScale;

const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * A llama of 4 layers and 256 values, the same bytes each time. Its layers are random; its embedding and its
 * output are arranged so that it says words of tiny-language.ts in an order that they allow, ends its turn after
 * some sentences, and so streams valid text at over 1,000 tokens a second.
 */
export function tinyModel(): Uint8Array {
  const language = tinyLanguage();
  const random = randomNumbers(20_260_801);
  const tensors: Tensor[] = [
    half('token_embd.weight', [width, language.tokens.length], embedding(language, random)),
    ones('output_norm.weight'),
    half('output.weight', [width, language.tokens.length], output(language)),
  ];
  for (let layer = 0; layer < layers; layer += 1) tensors.push(...layerTensors(`blk.${layer}`, random));
  return ggufFile(metadata(language), tensors);
}

function metadata(language: Language): Record<string, Value> {
  const controls = new Set<string>(Object.values(special));
  return {
    'general.architecture': { type: 'string', value: 'llama' },
    'general.type': { type: 'string', value: 'model' },
    'general.name': { type: 'string', value: 'Tiny llama of the bench' },
    'general.file_type': { type: 'u32', value: 1 },
    'llama.context_length': { type: 'u32', value: contextLength },
    'llama.embedding_length': { type: 'u32', value: width },
    'llama.block_count': { type: 'u32', value: layers },
    'llama.feed_forward_length': { type: 'u32', value: hidden },
    'llama.attention.head_count': { type: 'u32', value: heads },
    'llama.attention.head_count_kv': { type: 'u32', value: heads },
    'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-5 },
    'llama.rope.dimension_count': { type: 'u32', value: width / heads },
    'llama.rope.freq_base': { type: 'f32', value: 10_000 },
    'llama.vocab_size': { type: 'u32', value: language.tokens.length },
    'tokenizer.ggml.model': { type: 'string', value: 'gpt2' },
    'tokenizer.ggml.pre': { type: 'string', value: 'gpt-2' },
    'tokenizer.ggml.tokens': { type: 'strings', value: language.tokens },
    'tokenizer.ggml.token_type': {
      type: 'i32s',
      value: language.tokens.map((token) => (controls.has(token) ? 3 : 1)),
    },
    'tokenizer.ggml.merges': { type: 'strings', value: language.merges },
    'tokenizer.ggml.bos_token_id': { type: 'u32', value: language.ids(special.end) },
    'tokenizer.ggml.eos_token_id': { type: 'u32', value: language.ids(special.turnEnd) },
    'tokenizer.ggml.padding_token_id': { type: 'u32', value: language.ids(special.end) },
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: false },
    'tokenizer.chat_template': { type: 'string', value: chatTemplate },
  };
}

/** Directions: one for each word, one for the line break that ends the chat template, one for all other tokens. */
function directions(language: Language): { of: (token: number) => number; lineBreak: number; other: number } {
  const places = new Map(language.words.map((token, place) => [token, place]));
  const lineBreak = places.size;
  const other = places.size + 1;
  if (other >= width)
    throw new Error(`the tiny language has ${places.size} words, the model has room for ${width - 2}`);
  places.set(language.ids('Ċ'), lineBreak);
  return { of: (token) => places.get(token) ?? other, lineBreak, other };
}

function embedding(language: Language, random: () => number): Float32Array {
  const direction = directions(language);
  const rows = new Float32Array(language.tokens.length * width);
  language.tokens.forEach((_, token) => {
    // A little of its own tells tokens apart that share a direction.
    for (let place = 0; place < width; place += 1) rows[token * width + place] = 0.05 * random();
    rows[token * width + direction.of(token)] = tokenScale;
  });
  return rows;
}

function output(language: Language): Float32Array {
  const direction = directions(language);
  const turnEnd = language.ids(special.turnEnd);
  const rows = new Float32Array(language.tokens.length * width);
  const allow = (from: number, to: readonly number[]) => {
    for (const token of to) rows[token * width + from] = token === turnEnd ? endScale : outputScale;
  };
  for (const [word, followers] of language.followers) allow(direction.of(word), followers);
  allow(direction.lineBreak, language.openers.answer);
  allow(direction.other, language.openers.sentence);
  return rows;
}

function layerTensors(name: string, random: () => number): Tensor[] {
  const matrix = (part: string, inputs: number, outputs: number, scale: number) => {
    const values = new Float32Array(inputs * outputs).map(() => (scale * random()) / Math.sqrt(inputs));
    return half(`${name}.${part}.weight`, [inputs, outputs], values);
  };
  return [
    ones(`${name}.attn_norm.weight`),
    matrix('attn_q', width, width, 1),
    matrix('attn_k', width, width, 1),
    matrix('attn_v', width, width, 1),
    matrix('attn_output', width, width, layerScale),
    ones(`${name}.ffn_norm.weight`),
    matrix('ffn_gate', width, hidden, 1),
    matrix('ffn_up', width, hidden, 1),
    matrix('ffn_down', hidden, width, layerScale),
  ];
}

function half(name: string, shape: readonly number[], values: Float32Array): Tensor {
  return { name, shape, format: 'f16', data: halfBytes(values) };
}

function ones(name: string): Tensor {
  return { name, shape: [width], format: 'f32', data: floatBytes(new Float32Array(width).fill(1)) };
}

/** Uniform numbers with mean 0 and variance 1, the same for the same seed (a 32-bit xorshift). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) / 2 ** 31 - 1) * Math.sqrt(3);
  };
}
