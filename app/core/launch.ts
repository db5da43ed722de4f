/**
 * The llama-server settings that decide memory, as a profile gives them: what the planner sets itself, and
 * what the model's `env` (LLAMA_ARG_*) overrides. Defaults are llama-server's.
 */
import { elementBytes } from './gguf-types.ts';
import type { Profile } from './types.ts';

export interface Launch {
  /** Tokens over all slots. */
  readonly context: number;
  readonly slots: number;
  /** One pool of cells for all slots instead of one stream a slot. */
  readonly unified: boolean;
  /** Tokens of one physical batch. */
  readonly microBatch: number;
  /** Bytes of a cached element. */
  readonly bytesK: number;
  readonly bytesV: number;
  readonly flashAttention: boolean;
  /** Sliding-window layers keep the whole context too. */
  readonly fullWindow: boolean;
  /** The CPU's weights are rewritten in memory into a layout that it reads faster. */
  readonly repack: boolean;
  /** Layers on the GPU, counted with the output layer; Infinity: all. */
  readonly gpuLayers: number;
  readonly devices: readonly string[];
  /** Saved points a slot, of models whose cache cannot be rolled back (windows, recurrent layers). */
  readonly checkpoints: number;
}

const DEFAULT_MICRO_BATCH = 512;
const DEFAULT_BATCH = 2048;
/** An embedding is computed in one physical batch: instances get one of the whole context, up to this. */
const MOST_EMBEDDING_BATCH = 2048;
/** llama-server's own default. */
const MOST_CHECKPOINTS = 32;
/** Tokens between two saved points; the last two before a prompt's end come in addition. */
const CHECKPOINT_SPACING = 8192;

/** The settings of a profile. A KV type that is not known counts as f16: the larger one. */
export function launchOf(profile: Profile): Launch {
  const { env } = profile;
  const embedding = profile.task !== 'chat';
  const whole = Math.min(profile.context, MOST_EMBEDDING_BATCH);
  const batch = countOf(env['LLAMA_ARG_BATCH']) ?? (embedding ? whole : DEFAULT_BATCH);
  const microBatch = countOf(env['LLAMA_ARG_UBATCH']) ?? (embedding ? whole : DEFAULT_MICRO_BATCH);
  return {
    context: profile.context * profile.parallel,
    slots: profile.parallel,
    unified: isOn(env['LLAMA_ARG_KV_UNIFIED'], false),
    microBatch: Math.min(microBatch, batch),
    bytesK: elementBytes(env['LLAMA_ARG_CACHE_TYPE_K'] ?? 'f16') ?? 2,
    bytesV: elementBytes(env['LLAMA_ARG_CACHE_TYPE_V'] ?? 'f16') ?? 2,
    flashAttention: isOn(env['LLAMA_ARG_FLASH_ATTN'], true),
    fullWindow: isOn(env['LLAMA_ARG_SWA_FULL'], false),
    repack: isOn(env['LLAMA_ARG_REPACK'], true),
    gpuLayers: gpuLayers(profile),
    devices: profile.gpu?.devices ?? [],
    checkpoints: contextCheckpoints(profile),
  };
}

/**
 * How many saved points a slot may keep (`LLAMA_ARG_CTX_CHECKPOINTS`), set in every start so that the need counts
 * what the server takes: what the model's `env` says, else one each 8192 tokens of a slot's context and two before
 * the prompt's end. Without a bound a long talk fills llama-server's own limit of 32.
 */
export function contextCheckpoints({ context, task, env }: Profile): number {
  if (task !== 'chat') return 0;
  const given = countOf(env['LLAMA_ARG_CTX_CHECKPOINTS'], 0);
  return given ?? Math.min(MOST_CHECKPOINTS, Math.floor(context / CHECKPOINT_SPACING) + 2);
}

function gpuLayers({ placement, gpu, env }: Profile): number {
  if (placement === 'cpu' || gpu === null) return 0;
  return countOf(env['LLAMA_ARG_N_GPU_LAYERS'], 0) ?? Number.POSITIVE_INFINITY;
}

function countOf(text: string | undefined, least = 1): number | undefined {
  if (text === undefined || !/^\d+$/.test(text.trim())) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= least ? value : undefined;
}

/** llama.cpp's words for switches; `auto` and anything unknown is the default. */
function isOn(text: string | undefined, fallback: boolean): boolean {
  const word = text?.trim().toLowerCase() ?? '';
  if (['1', 'on', 'true', 'enabled'].includes(word)) return true;
  if (['0', 'off', 'false', 'disabled'].includes(word)) return false;
  return fallback;
}
