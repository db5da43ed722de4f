/**
 * What is published of the state: pure functions from the view to the JSON that sensors read. Sizes are
 * GiB, durations minutes, times ISO 8601; a value that is not known is null (Home Assistant: unknown).
 */
import type { DrillVerdict } from '../../core/drill.ts';
import type { Fact } from '../../core/facts.ts';
import type { Mode, ModelStatus, Placement, Reason } from '../../core/types.ts';
import type { ModelView, View } from '../../core/view.ts';

export type OnOff = 'ON' | 'OFF';

/** `state`. Where models differ, see each field. */
export interface HomeState {
  /** The first of gpu, split, cpu that any model runs on. */
  readonly active_backend: Placement | 'none';
  /** The most urgent of all models'. */
  readonly status: ModelStatus;
  /** ON when any model has a placement out of service. */
  readonly failover_active: OnOff;
  /** Null where models differ. */
  readonly mode: Mode | null;
  /** Null where models differ. */
  readonly keep_loaded: OnOff | null;
  /** Names of loaded models, comma-separated. */
  readonly loaded_model: string | null;
  readonly ram_budget: number | null;
  readonly last_failover: string | null;
  readonly last_failover_reason: Reason | null;
  readonly last_drill: DrillVerdict | null;
}

/** `model/<slug>/state`. */
export interface ModelState {
  readonly model: string;
  readonly active_backend: Placement | 'none';
  readonly status: ModelStatus;
  readonly failover_active: OnOff;
  readonly mode: Mode;
  readonly keep_loaded: OnOff;
  /** 0: never; null: longer than can be set. */
  readonly idle_unload: number | null;
  readonly llm_memory: number;
}

/** `metrics`. */
export interface Metrics {
  readonly llm_memory: number | null;
  readonly host_memory_available: number | null;
  /** Of all GPUs whose driver tells. */
  readonly gpu_memory_available: number | null;
  readonly requests: number;
  readonly failovers: number;
  readonly active_requests: number;
  readonly queued_requests: number;
}

/** Longest idle time that can be set from Home Assistant, minutes: a week. */
export const IDLE_MAX = 7 * 24 * 60;

const GIB = 1024 ** 3;
const URGENCY: readonly ModelStatus[] = [
  'failed',
  'degraded',
  'draining',
  'starting',
  'busy',
  'ready',
  'stopped',
];
const STRENGTH: readonly Placement[] = ['gpu', 'split', 'cpu'];

/** The state of the whole home. */
export function homeState(view: View): HomeState {
  const models = view.models;
  return {
    active_backend: STRENGTH.find((placement) => models.some((m) => m.placement === placement)) ?? 'none',
    status: URGENCY.find((status) => models.some((m) => m.status === status)) ?? 'stopped',
    failover_active: onOff(models.some((m) => m.outage !== null)),
    mode: common(models.map((m) => m.mode)),
    keep_loaded: common(models.map((m) => onOff(m.keepLoaded))),
    loaded_model: loadedNames(models),
    ram_budget: ramBudget(view),
    last_failover: view.lastFailover?.time ?? null,
    last_failover_reason: view.lastFailover?.reason ?? null,
    last_drill: view.lastDrill?.verdict ?? null,
  };
}

/** The state of one model. */
export function modelState(view: View, model: ModelView): ModelState {
  const minutes = model.idleUnload === null ? 0 : rounded(model.idleUnload / 60, 2);
  const own = view.instances.filter((instance) => instance.model === model.name);
  return {
    model: model.displayName,
    active_backend: model.placement,
    status: model.status,
    failover_active: onOff(model.outage !== null),
    mode: model.mode,
    keep_loaded: onOff(model.keepLoaded),
    idle_unload: minutes > IDLE_MAX ? null : minutes,
    llm_memory: gib(
      own.reduce((sum, instance) => sum + instance.memory, 0),
      2,
    ),
  };
}

/** Measurements; rounded, so that small moves are not published. */
export function metrics(view: View): Metrics {
  return {
    llm_memory: view.memory === null ? null : gib(view.memory.models, 2),
    host_memory_available: view.memory === null ? null : gib(view.memory.available, 1),
    gpu_memory_available: gpuAvailable(view),
    requests: view.counters.requests,
    failovers: view.counters.failovers,
    active_requests: view.leases,
    queued_requests: view.queue,
  };
}

/**
 * A fact as the event entity takes it. `missed` > 0: so many facts before this one are no longer kept and
 * were never told.
 */
export function eventPayload(fact: Fact, missed: number): Record<string, unknown> {
  return { event_type: fact.type, ...fact, ...(missed > 0 ? { missed } : {}) };
}

/** Largest budget that can be set: all memory of the host, GiB, rounded down; null until it was read. */
export function ramBudgetMax(view: View): number | null {
  return view.memory === null ? null : Math.floor((view.memory.total / GIB) * 10) / 10;
}

/** Whether there is a GPU with memory of its own. */
export function hasGpuMemory(view: View): boolean {
  return view.gpus.some(({ memory }) => memory === 'dedicated');
}

function gpuAvailable(view: View): number | null {
  let free: number | null = null;
  for (const { total, used } of view.gpus) {
    if (total !== null && used !== null) free = (free ?? 0) + total - used;
  }
  return free === null ? null : gib(free, 1);
}

function ramBudget(view: View): number | null {
  const max = ramBudgetMax(view);
  if (view.memory === null || max === null) return null;
  // More than the host has means all of it; a state above the entity's maximum would be refused.
  return Math.min(gib(view.memory.budget, 1), max);
}

/** At most 255 characters: Home Assistant refuses a longer state. */
function loadedNames(models: readonly ModelView[]): string | null {
  const loaded = models.filter((m) => m.placement !== 'none').map((m) => m.displayName);
  if (loaded.length === 0) return null;
  const text = [...loaded.join(', ')];
  return text.length > 255 ? `${text.slice(0, 254).join('')}…` : text.join('');
}

function common<T>(values: readonly T[]): T | null {
  const [first, ...rest] = values;
  return first !== undefined && rest.every((value) => value === first) ? first : null;
}

function onOff(on: boolean): OnOff {
  return on ? 'ON' : 'OFF';
}

function gib(bytes: number, digits: number): number {
  return rounded(bytes / GIB, digits);
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
