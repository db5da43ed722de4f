/**
 * Names the reason of a failure. First from what the socket showed, then, better, from what Docker and the
 * program's last words show. The log lines are those of llama.cpp, CUDA, Vulkan and Docker's GPU hooks.
 */
import type { Failure } from './request.ts';
import type { ExitEvidence, Reason } from './types.ts';

interface Sign {
  readonly reason: Reason;
  readonly sign: RegExp;
}

/** Docker's own errors at create and start. */
const START_ERRORS: readonly Sign[] = [
  {
    reason: 'device_missing',
    sign: /could not select device driver|nvidia-container-cli|nvml error|gathering device information|no such device|unresolvable CDI devices|driver\/library version mismatch/i,
  },
];

const LOG_SIGNS: readonly Sign[] = [
  {
    reason: 'out_of_memory',
    sign: /out of memory|ErrorOutOfDeviceMemory|ErrorOutOfHostMemory|unable to allocate \S+ buffer|failed to allocate .*(buffer|kv cache)|Device memory allocation of size \d+ failed/i,
  },
  { reason: 'gpu_lost', sign: /ErrorDeviceLost|device lost|fallen off the bus|Failed to initialize NVML/i },
  {
    reason: 'device_missing',
    sign: /invalid device: |no usable GPU found|no CUDA-capable device|failed to initialize CUDA/i,
  },
  {
    reason: 'load_failed',
    sign: /exiting due to model loading error|failed to load model|error loading model/i,
  },
];

/** What the socket alone shows. */
export function reasonOfFailure(failure: Failure): Reason {
  switch (failure.kind) {
    case 'refused':
      return 'connection_lost';
    case 'loading':
      return 'start_failed';
    case 'reset':
      return 'reset';
    case 'first_token_deadline':
      return 'hang';
    case 'stall':
      return 'stall';
    case 'frozen':
      return 'frozen';
    case 'http':
      return failure.status === 401 ? 'unknown' : 'compute_error';
    case 'not_resumable':
      return 'unknown';
  }
}

/**
 * The best reason there is. `before`: what was believed until now (from the socket), null for a failed start.
 * `detail` is the line that decided, for people.
 */
export function reasonOfExit(
  evidence: ExitEvidence,
  before: Reason | null,
): { readonly reason: Reason; readonly detail: string | null } {
  if (evidence.oomKilled) return { reason: 'memory_limit', detail: 'killed by its own memory limit' };
  if (evidence.killedOutside) return { reason: 'killed_outside', detail: null };
  if (before === null && evidence.engineAway) return { reason: 'connection_lost', detail: evidence.error };
  const error = evidence.error ?? '';
  for (const { reason, sign } of START_ERRORS) if (sign.test(error)) return { reason, detail: error };
  for (const { reason, sign } of LOG_SIGNS) {
    const line = evidence.log.find((text) => sign.test(text));
    if (line !== undefined) return { reason, detail: line };
  }
  const lastWords = evidence.log.at(-1) ?? null;
  if (before === null) return { reason: 'start_failed', detail: evidence.error ?? lastWords };
  if (evidence.running) return { reason: before, detail: evidence.error };
  if (isOfStandstill(before)) return { reason: before, detail: null };
  const detail = evidence.exitCode === null ? lastWords : `exit code ${evidence.exitCode}`;
  return { reason: 'exit', detail };
}

/** Its program was alive and did nothing: we ended it, so how it ended says nothing. */
function isOfStandstill(reason: Reason): boolean {
  return ['paused', 'hang', 'stall', 'frozen'].includes(reason);
}

/** Reasons that speak against the model or the machine, and not against this one run: no use to wait. */
export function isLasting(reason: Reason): boolean {
  return ['load_failed', 'start_failed', 'device_missing', 'does_not_fit'].includes(reason);
}

/** SIGINT, SIGKILL, SIGTERM: a program never ends itself by them. */
const KILLED = new Set([130, 137, 143]);

/**
 * Deaths that a request can be the cause of: the program ended by itself. A kill from outside, by us or by a
 * memory limit convicts nobody, nor does what was never seen to end.
 */
export function convicts(reason: Reason, evidence: ExitEvidence): boolean {
  if (evidence.running || evidence.oomKilled || evidence.killedOutside) return false;
  if (evidence.exitCode === null || KILLED.has(evidence.exitCode)) return false;
  return ['exit', 'out_of_memory', 'gpu_lost'].includes(reason);
}
