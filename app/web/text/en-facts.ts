/**
 * Facts and reasons in English. State first, then cause, then next step.
 */

import type { Fact } from '../../core/facts.ts';
import type { Placement } from '../../core/types.ts';
import type { Format } from './format.ts';
import type { FactPhrases, ReasonPhrases } from './phrases.ts';
import { requestCount } from './phrases.ts';

export const enReasons: ReasonPhrases = {
  out_of_memory: 'it ran out of memory',
  device_missing: 'the GPU was not found',
  gpu_lost: 'the GPU was lost',
  start_failed: 'it could not be started',
  load_failed: 'the model could not be loaded',
  exit: 'the program ended',
  reset: 'the connection broke',
  hang: 'it did not answer in time',
  stall: 'its answer stopped midway',
  frozen: 'it was frozen and gave no sign of life',
  paused: 'its container was paused',
  killed_outside: 'someone stopped its container',
  memory_limit: 'it reached its memory limit',
  compute_error: 'a computation failed',
  connection_lost: 'the connection was lost',
  does_not_fit: 'it does not fit into memory',
  unknown: 'the cause is not known',
};

/** A cause as a whole sentence about the GPU or the CPU that failed. */
function failed(fact: Fact): string {
  const where = place(fact.placement ?? 'gpu');
  switch (fact.reason) {
    case 'out_of_memory':
      return `The ${where} ran out of memory.`;
    case 'gpu_lost':
      return 'The GPU was lost.';
    case 'device_missing':
      return 'The GPU was not found.';
    case 'hang':
      return `The ${where} did not answer in time.`;
    case 'stall':
      return `The ${where} stopped in the middle of an answer.`;
    case 'frozen':
      return `The program on the ${where} was frozen and gave no sign of life.`;
    case 'paused':
      return `The container on the ${where} was paused.`;
    case 'killed_outside':
      return `Someone stopped the container on the ${where}.`;
    case 'memory_limit':
      return `The container on the ${where} reached its memory limit.`;
    default:
      return `The ${where} failed: ${enReasons[fact.reason ?? 'unknown']}.`;
  }
}

export function place(placement: Placement | 'none'): string {
  return { gpu: 'GPU', split: 'GPU and CPU', cpu: 'CPU', none: 'no device' }[placement];
}

const name = (fact: Fact) => fact.model ?? 'A model';
const on = (fact: Fact) => `on the ${place(fact.placement ?? 'none')}`;
const detail = (fact: Fact) => (fact.detail === undefined ? '' : ` “${fact.detail}”`);
const because = (fact: Fact) => (fact.reason === undefined ? '' : `: ${enReasons[fact.reason]}`);
const requests = (n: number) => (n === 1 ? '1 request' : `${n} requests`);

/** `It loaded in 12 s and uses 5.1 GiB of GPU memory.`, with the parts that are known. */
function loadFigures(fact: Fact, format: Format): string {
  const took = fact.seconds === undefined ? null : `loaded in ${format.duration(fact.seconds)}`;
  const uses =
    fact.vram !== undefined && fact.vram > 0
      ? `uses ${format.memory(fact.vram)} of GPU memory`
      : fact.bytes === undefined
        ? null
        : `uses ${format.memory(fact.bytes)} of memory`;
  const parts = [took, uses].filter((part) => part !== null);
  return parts.length === 0 ? '' : ` It ${parts.join(' and ')}.`;
}

function unloaded(fact: Fact, format: Format): string {
  const freed = fact.bytes === undefined ? '' : ` ${format.memory(fact.bytes)} is free again.`;
  switch (fact.why) {
    case 'idle':
      return `${name(fact)} was unused and was unloaded.${freed}`;
    case 'command':
      return `${name(fact)} was unloaded, as you asked.${freed}`;
    case 'mode':
      return `${name(fact)} was unloaded because its mode changed.${freed}`;
    case 'config':
      return `${name(fact)} was unloaded because its configuration changed.${freed}`;
    case 'room':
      return `${name(fact)} was unloaded to make room for another model.${freed}`;
    case 'failed':
      return `${name(fact)} was removed ${on(fact)} after it failed.${freed}`;
    case 'recovered':
      return `${name(fact)} was unloaded ${on(fact)}: it runs on the GPU again.${freed}`;
    case 'shutdown':
      return `${name(fact)} was unloaded because Llamastead stops.`;
    default:
      return `${name(fact)} was unloaded.${freed}`;
  }
}

const VERDICTS = { passed: 'passed', failed: 'failed', not_applicable: 'not applicable' } as const;

export const enFacts: FactPhrases = {
  model_loading: (f) => `${name(f)} is starting ${on(f)}.`,
  model_loaded: (f, format) => `${name(f)} is ready ${on(f)}.${loadFigures(f, format)}`,
  model_unloading: (f) => `${name(f)} is being unloaded.`,
  model_unloaded: unloaded,
  load_failed: (f) => `${name(f)} could not be loaded ${on(f)}${because(f)}.${detail(f)}`,
  request_failed: (f) => `A request for ${name(f)} failed${because(f)}.${detail(f)}`,
  failover: (f) => {
    const n = requestCount(f);
    return `${failed(f)} ${n === 0 ? 'Requests' : requests(n)} for ${name(f)} ${n === 1 ? 'continues' : 'continue'} on the ${place(f.to ?? 'cpu')}.`;
  },
  failover_failed: (f) => {
    const n = Math.max(1, requestCount(f));
    return `${failed(f)} ${requests(n)} for ${name(f)} could not be continued${n === 1 ? ' and was answered with an error' : ' and were answered with errors'}.${detail(f)}`;
  },
  recovered: (f, format) =>
    `${name(f)} is back on the ${place(f.to ?? f.placement ?? 'gpu')}${f.seconds === undefined ? '' : ` after ${format.duration(f.seconds)}`}.`,
  backend_crashed: (f) => `${name(f)} stopped ${on(f)}${because(f)}.${detail(f)}`,
  out_of_memory: (f, format) =>
    `${name(f)} ran out of memory ${on(f)}.${f.need !== undefined && f.room !== undefined ? ` It needed ${format.memory(f.need)}; ${format.memory(f.room)} was free.` : ''}`,
  gpu_lost: (f) => `The GPU is gone.${detail(f)}`,
  gpu_back: (f) => `The GPU can be used.${detail(f)}`,
  cpu_fallback_detected: (f) =>
    `${name(f)} should run on the GPU but runs on the CPU${f.reason === 'device_missing' ? ': its container sees no GPU' : because(f)}.${detail(f)}`,
  ram_pressure: (f, format) =>
    f.room !== undefined && f.need !== undefined
      ? `Memory is low: ${format.memory(f.room)} left, ${format.memory(f.need)} is kept for the NAS. No model loads until there is more.`
      : 'Memory is low. No model loads until there is more.',
  ram_relieved: () => 'There is enough memory again. Models load as usual.',
  vram_pressure: () => 'Another program takes GPU memory. Models make room for it.',
  vram_relieved: () => 'There is enough GPU memory again.',
  load_refused: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `${name(f)} was not loaded: it needs ${format.memory(f.need)} and models may use ${format.memory(f.room)} more.`
      : `${name(f)} was not loaded${because(f)}.${detail(f)}`,
  duplicate_model: (f) => `${name(f)} is loaded twice, here and by another program.${detail(f)}`,
  drill_started: (f) =>
    `A drill began${f.model === undefined ? '' : ` on ${f.model}`}: a failure on purpose${f.scenario === undefined ? '' : ` (${f.scenario})`}.`,
  drill_finished: (f, format) =>
    `The drill${f.model === undefined ? '' : ` on ${f.model}`} is over${f.seconds === undefined ? '' : ` after ${format.duration(f.seconds)}`}${f.verdict === undefined ? '' : `: ${VERDICTS[f.verdict]}`}.${detail(f)}`,
  mode_changed: (f) =>
    f.mode === undefined
      ? `${name(f)} has another mode.`
      : `${name(f)} ${{ auto: 'chooses GPU or CPU by itself', gpu: 'runs on the GPU only', cpu: 'runs on the CPU only', off: 'is switched off' }[f.mode]} now.`,
  setting_changed: (f) =>
    `A setting changed${f.key === undefined ? '' : `: ${f.key}${f.value === undefined ? '' : ` is ${String(f.value)}`}`}.`,
  config_reloaded: () => 'The configuration was read again.',
  image_pulling: () => 'The llama.cpp program is being downloaded.',
  image_pulled: (f, format) =>
    `The llama.cpp program is here${f.seconds === undefined ? '' : ` after ${format.duration(f.seconds)}`}.`,
  image_pull_failed: (f, format) =>
    f.need !== undefined && f.room !== undefined
      ? `The llama.cpp program was not downloaded: the disk lacks ${format.file(f.need - f.room)}. Free some space; it goes on by itself.`
      : `The llama.cpp program was not downloaded.${detail(f)} It is tried again by itself.`,
  download_finished: (f) => `${name(f)} was downloaded.`,
  download_failed: (f) => `${name(f)} was not downloaded${because(f)}.${detail(f)}`,
  broker_lost: () =>
    'The connection to the MQTT broker was lost. Home Assistant sees no news until it is back.',
  broker_back: () => 'The connection to the MQTT broker is back.',
};
