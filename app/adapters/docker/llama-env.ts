/**
 * The environment of a llama-server instance. Variables, not arguments: an unknown variable is ignored by an
 * older or newer build, an unknown argument ends it. Names as printed by `llama-server --help`.
 */
import type { InstancePlan } from '../../core/effects.ts';
import { contextCheckpoints } from '../../core/launch.ts';
import type { Profile, Task } from '../../core/types.ts';
import { AppError } from '../../errors.ts';

export const PORT_VARIABLE = 'LLAMA_ARG_PORT';
export const KEY_VARIABLE = 'LLAMA_API_KEY';

/** More than any model has. */
const ALL_LAYERS = '999';
/** At this level the lines appear that tell where buffers were placed. */
const VERBOSITY = '4';
/** Seconds that a connection may be silent: a slow prompt is never cut, our own deadlines decide. */
const TIMEOUT = '86400';
/** Above the edge's pool of slots + 2 connections, so that held ones never starve a new one. */
const SPARE_HTTP_THREADS = 6;
/** An embedding is computed in one physical batch; a larger one would cost too much compute memory. */
const MAX_EMBEDDING_BATCH = 2048;
const MIB = 1024 * 1024;

export interface Listening {
  readonly port: number;
  readonly key: string;
  /** The models folder inside the instance. */
  readonly folder: string;
}

/** Every variable, the model's own last. Throws AppError `outside_models` for a path that leaves the folder. */
export function llamaEnv(plan: InstancePlan, listening: Listening): Record<string, string> {
  const { profile } = plan;
  return {
    LLAMA_ARG_HOST: '0.0.0.0',
    [PORT_VARIABLE]: String(listening.port),
    [KEY_VARIABLE]: listening.key,
    LLAMA_ARG_MODEL: below(listening.folder, profile.file),
    LLAMA_ARG_ALIAS: plan.model,
    // The server divides the total by the slots.
    LLAMA_ARG_CTX_SIZE: String(profile.context * profile.parallel),
    LLAMA_ARG_N_PARALLEL: String(profile.parallel),
    LLAMA_ARG_THREADS: String(profile.threads),
    LLAMA_ARG_THREADS_HTTP: String(profile.parallel + SPARE_HTTP_THREADS),
    LLAMA_ARG_FIT: 'off',
    LLAMA_ARG_CACHE_RAM: String(Math.floor(plan.promptCache / MIB)),
    LLAMA_ARG_CTX_CHECKPOINTS: String(contextCheckpoints(profile)),
    LLAMA_ARG_JINJA: '1',
    LLAMA_ARG_UI: '0',
    LLAMA_ARG_WEBUI: '0',
    LLAMA_ARG_OFFLINE: '1',
    LLAMA_ARG_TIMEOUT: TIMEOUT,
    LLAMA_ARG_LOG_VERBOSITY: VERBOSITY,
    LLAMA_ARG_LOG_COLORS: 'off',
    ...(profile.projector === null ? {} : { LLAMA_ARG_MMPROJ: below(listening.folder, profile.projector) }),
    ...taskEnv(profile.task, profile.context),
    ...placementEnv(profile),
    ...profile.gpu?.env,
    ...profile.env,
  };
}

/** The device is named, so that a missing GPU fails instead of running on the CPU in silence. */
function placementEnv(profile: Profile): Record<string, string> {
  if (profile.gpu === null) return { LLAMA_ARG_DEVICE: 'none' };
  const device = { LLAMA_ARG_DEVICE: profile.gpu.devices.join(',') };
  return profile.placement === 'gpu' ? { ...device, LLAMA_ARG_N_GPU_LAYERS: ALL_LAYERS } : device;
}

function taskEnv(task: Task, context: number): Record<string, string> {
  if (task === 'chat') return {};
  const batch = String(Math.min(context, MAX_EMBEDDING_BATCH));
  return {
    [task === 'embedding' ? 'LLAMA_ARG_EMBEDDINGS' : 'LLAMA_ARG_RERANKING']: '1',
    LLAMA_ARG_BATCH: batch,
    LLAMA_ARG_UBATCH: batch,
  };
}

function below(folder: string, file: string): string {
  if (file.startsWith('/') || file.split('/').includes('..')) {
    throw new AppError('outside_models', `${file} is not below the models folder`);
  }
  return `${folder}/${file}`;
}
