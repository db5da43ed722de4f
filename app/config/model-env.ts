/**
 * Which environment variables a configuration may give to an instance. llama-server's variables also open
 * files, networks and shells, and others are the planner's: so models have an allow-list, and what is
 * refused names the key that does it. Names as in llama-server's own help.
 */
import { nearest } from '../core/nearest.ts';

const PREFIX = 'LLAMA_ARG_';

const ALLOWED = new Set(
  [
    // Sampling.
    'TEMPERATURE TOP_K TOP_P MIN_P REPEAT_PENALTY PRESENCE_PENALTY FREQUENCY_PENALTY N_PREDICT',
    'BACKEND_SAMPLING',
    // KV types, batch, flash attention.
    'CACHE_TYPE_K CACHE_TYPE_V BATCH UBATCH CONT_BATCHING FLASH_ATTN',
    // Saved points of a prompt: their memory is planned from it.
    'CTX_CHECKPOINTS',
    // Templates and reasoning.
    'JINJA CHAT_TEMPLATE CHAT_TEMPLATE_KWARGS SKIP_CHAT_PARSING PREFILL_ASSISTANT',
    'THINK THINK_BUDGET THINK_BUDGET_MESSAGE REASONING REASONING_EFFORT REASONING_PRESERVE',
    // Speculative decoding; a draft model file is no variable: its memory would not be planned.
    'SPEC_TYPE SPEC_DRAFT_N_MAX SPEC_DRAFT_N_MIN SPEC_DRAFT_P_MIN SPEC_DRAFT_P_SPLIT SPEC_DRAFT_SAMPLING',
    'SPEC_DRAFT_BACKEND_SAMPLING DRAFT_MAX DRAFT_MIN DRAFT_P_MIN',
    // Positions, and memory nodes of the machine.
    'ROPE_SCALING_TYPE ROPE_SCALE ROPE_FREQ_BASE ROPE_FREQ_SCALE',
    'YARN_ORIG_CTX YARN_EXT_FACTOR YARN_ATTN_FACTOR YARN_BETA_SLOW YARN_BETA_FAST',
    'NUMA',
  ].flatMap((line) => line.split(' ').map((name) => `${PREFIX}${name}`)),
);

/** Variables that the planner sets, and the key of the configuration that decides them. */
const PLANNED: Readonly<Record<string, string>> = {
  LLAMA_ARG_MODEL: 'file',
  LLAMA_ARG_MMPROJ: 'projector',
  LLAMA_ARG_MMPROJ_AUTO: 'projector',
  LLAMA_ARG_CTX_SIZE: 'context',
  LLAMA_ARG_N_PARALLEL: 'parallel',
  LLAMA_ARG_KV_UNIFIED_PER_SLOT: 'context',
  LLAMA_ARG_THREADS: 'cpu.threads',
  LLAMA_ARG_ALIAS: 'aliases',
  LLAMA_ARG_EMBEDDINGS: 'task',
  LLAMA_ARG_RERANKING: 'task',
  LLAMA_ARG_POOLING: 'task',
  LLAMA_ARG_DEVICE: 'gpu.devices',
  LLAMA_ARG_MAIN_GPU: 'gpu.devices',
  LLAMA_ARG_N_GPU_LAYERS: 'placements',
  LLAMA_ARG_FIT: 'placements',
  LLAMA_ARG_CACHE_RAM: 'memory.budget',
  LLAMA_ARG_SLOT_SAVE_PATH: 'promptState.keep',
  LLAMA_ARG_HOST: 'listen.host',
  LLAMA_ARG_PORT: 'listen.port',
  LLAMA_ARG_TIMEOUT: 'failover.firstToken',
  LLAMA_ARG_LOG_VERBOSITY: 'log.level',
  LLAMA_API_KEY: 'security.apiKeys',
  LLAMA_ARG_API_KEY_FILE: 'security.apiKeys',
  GGML_VK_VISIBLE_DEVICES: 'env of the entry under gpus',
};

/** A shared library of choice would be loaded from there. */
const REFUSED_GGML = new Set(['GGML_BACKEND_PATH']);

/** What graphics drivers and GGML read; none reaches llama-server's own options. */
const GPU_PREFIXES = /^(GGML|CUDA|NVIDIA|HIP|HSA|ROCR|GPU|AMD|RADV|ANV|INTEL|MESA|VK|LP|ZE|ZES|SYCL|ONEAPI)_/;

export const MODEL_ENV_EXPECTED =
  'a variable of llama-server for sampling, KV types, batch, flash attention, templates, reasoning, ' +
  'speculative decoding, rope or NUMA (LLAMA_ARG_*), or GGML_*';

export const GPU_ENV_EXPECTED =
  'a variable of GGML or a graphics driver, such as GGML_VK_VISIBLE_DEVICES, MESA_*, CUDA_*, HSA_*';

/** Null: a model may have it. Otherwise what was expected, with the key that does this. */
export function refuseModelEnv(name: string): string | null {
  if (ALLOWED.has(name)) return null;
  const planned = PLANNED[name];
  if (planned !== undefined) return `${planned} instead, because Llamastead sets ${name} itself`;
  if (/^GGML_[A-Z0-9_]+$/.test(name) && !REFUSED_GGML.has(name)) return null;
  const guess = nearest(
    name.replace(PREFIX, ''),
    [...ALLOWED].map((allowed) => allowed.replace(PREFIX, '')),
  );
  return guess === null ? MODEL_ENV_EXPECTED : `${PREFIX}${guess}, or ${MODEL_ENV_EXPECTED}`;
}

/** Null: the containers of a GPU may have it. Otherwise what was expected. */
export function refuseGpuEnv(name: string): string | null {
  return GPU_PREFIXES.test(name) && /^[A-Z0-9_]+$/.test(name) && !REFUSED_GGML.has(name)
    ? null
    : GPU_ENV_EXPECTED;
}

/** For the reference. */
export function allowedModelEnv(): readonly string[] {
  return [...ALLOWED].sort();
}
