/**
 * Which environment variables a configuration may give to an instance. llama-server's variables also open
 * files, networks and shells, and others are the planner's: so models have an allow-list, and what is
 * refused names the key that does it. Names as in llama-server's own help.
 */
import { nearest } from '../core/nearest.ts';
import { ENV_FORMS } from './env-forms.ts';

const PREFIX = 'LLAMA_ARG_';

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

/** Variables that llama-server had before; a build of today ends by them or does not see them. */
const REPLACED: Readonly<Record<string, string>> = {
  LLAMA_ARG_DRAFT_MAX: 'LLAMA_ARG_SPEC_DRAFT_N_MAX',
  LLAMA_ARG_DRAFT_MIN: 'LLAMA_ARG_SPEC_DRAFT_N_MIN',
  LLAMA_ARG_DRAFT_P_MIN: 'LLAMA_ARG_SPEC_DRAFT_P_MIN',
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
  if (ENV_FORMS.has(name)) return null;
  const planned = PLANNED[name];
  if (planned !== undefined) return `${planned} instead, because Llamastead sets ${name} itself`;
  const successor = REPLACED[name];
  if (successor !== undefined) return `${successor} instead, because llama-server no longer takes ${name}`;
  if (/^GGML_[A-Z0-9_]+$/.test(name) && !REFUSED_GGML.has(name)) return null;
  const guess = nearest(
    name.replace(PREFIX, ''),
    [...ENV_FORMS.keys()].map((allowed) => allowed.replace(PREFIX, '')),
  );
  return guess === null ? MODEL_ENV_EXPECTED : `${PREFIX}${guess}, or ${MODEL_ENV_EXPECTED}`;
}

/** Null: llama-server takes this value. Otherwise what was expected. */
export function refuseModelValue(name: string, value: string): string | null {
  const form = ENV_FORMS.get(name);
  return form === undefined || form.takes(value) ? null : form.expected;
}

/** Null: the containers of a GPU may have it. Otherwise what was expected. */
export function refuseGpuEnv(name: string): string | null {
  return GPU_PREFIXES.test(name) && /^[A-Z0-9_]+$/.test(name) && !REFUSED_GGML.has(name)
    ? null
    : GPU_ENV_EXPECTED;
}
