/**
 * The entities of the home's device and of each model's. Pure tables: what an entity is called, reads and
 * sets. Unique ids come from the role, never from a container.
 */
import type { DrillVerdict } from '../../core/drill.ts';
import { TOLD_TYPES } from '../../core/facts.ts';
import type { Mode, ModelStatus, Placement, Reason } from '../../core/types.ts';
import {
  button,
  common,
  counter,
  gauge,
  memory,
  named,
  number,
  reads,
  type Scope,
  sensor,
} from './component-builders.ts';
import type { Component, Select, Switch } from './components.ts';
import { IDLE_MAX } from './payloads.ts';

export interface HomeScope extends Scope {
  readonly metrics: string;
  readonly event: string;
  /** GiB; null: not known yet, so there is no entity for the budget. */
  readonly ramBudgetMax: number | null;
  /** There is a GPU with memory of its own. */
  readonly gpuMemory: boolean;
}

const PLACEMENT_STATES = words<Placement | 'none'>({ gpu: 1, split: 1, cpu: 1, none: 1 });
const STATUS_STATES = words<ModelStatus>({
  stopped: 1,
  starting: 1,
  ready: 1,
  busy: 1,
  draining: 1,
  degraded: 1,
  failed: 1,
});
const MODE_OPTIONS = words<Mode>({ auto: 1, gpu: 1, cpu: 1, off: 1 });
const VERDICTS = words<DrillVerdict>({ passed: 1, failed: 1, not_applicable: 1 });
const REASONS = words<Reason>({
  out_of_memory: 1,
  device_missing: 1,
  gpu_lost: 1,
  start_failed: 1,
  load_failed: 1,
  exit: 1,
  reset: 1,
  hang: 1,
  stall: 1,
  frozen: 1,
  paused: 1,
  killed_outside: 1,
  memory_limit: 1,
  compute_error: 1,
  connection_lost: 1,
  does_not_fit: 1,
  unknown: 1,
});

/** Component key -> component of the home's device. */
export function homeEntities(scope: HomeScope): Record<string, Component> {
  const metric = { ...scope, state: scope.metrics };
  return {
    ...shared(scope),
    backend_event: {
      platform: 'event',
      ...common(scope, 'event', 'backend_event', 'Backend event'),
      state_topic: scope.event,
      event_types: TOLD_TYPES,
      icon: 'mdi:server-network',
    },
    loaded_model: sensor(scope, 'loaded_model', 'Loaded model', { icon: 'mdi:brain' }),
    last_failover: sensor(scope, 'last_failover', 'Last failover', {
      device_class: 'timestamp',
      entity_category: 'diagnostic',
    }),
    last_failover_reason: sensor(scope, 'last_failover_reason', 'Last failover reason', {
      device_class: 'enum',
      options: REASONS,
      entity_category: 'diagnostic',
    }),
    last_drill: sensor(scope, 'last_drill', 'Last drill', {
      device_class: 'enum',
      options: VERDICTS,
      entity_category: 'diagnostic',
      icon: 'mdi:fire-alert',
    }),
    llm_memory: memory(metric, 'llm_memory', 'LLM memory'),
    host_memory_available: {
      ...memory(metric, 'host_memory_available', 'Host memory available'),
      entity_category: 'diagnostic',
    },
    ...(scope.gpuMemory ? { gpu_memory_available: gpuMemory(metric) } : {}),
    requests: counter(metric, 'requests', 'Requests', 'mdi:counter'),
    failovers: counter(metric, 'failovers', 'Failovers', 'mdi:swap-horizontal'),
    active_requests: gauge(metric, 'active_requests', 'Active requests'),
    queued_requests: gauge(metric, 'queued_requests', 'Queued requests'),
    ...ramBudget(scope),
    connection: {
      platform: 'binary_sensor',
      ...named(scope, 'binary_sensor', 'connection', 'Connection'),
      state_topic: scope.availability,
      device_class: 'connectivity',
      payload_on: 'online',
      payload_off: 'offline',
      entity_category: 'diagnostic',
    },
  };
}

/** Component key -> component of a model's device. */
export function modelEntities(scope: Scope): Record<string, Component> {
  return {
    ...shared(scope),
    restart: {
      ...button(scope, 'restart', 'Restart backend'),
      device_class: 'restart',
      entity_category: 'config',
    },
    idle_unload: number(scope, 'idle_unload', 'Idle unload', {
      device_class: 'duration',
      unit_of_measurement: 'min',
      max: IDLE_MAX,
      step: 1,
    }),
    llm_memory: memory(scope, 'llm_memory', 'LLM memory'),
  };
}

/** What the home and each model have alike. */
function shared(scope: Scope): Record<string, Component> {
  return {
    active_backend: sensor(scope, 'active_backend', 'Active backend', {
      device_class: 'enum',
      options: PLACEMENT_STATES,
      icon: 'mdi:expansion-card',
    }),
    status: sensor(scope, 'status', 'Status', { device_class: 'enum', options: STATUS_STATES }),
    failover_active: {
      platform: 'binary_sensor',
      ...common(scope, 'binary_sensor', 'failover_active', 'Failover active'),
      ...reads(scope, 'failover_active'),
      device_class: 'problem',
    },
    mode: {
      platform: 'select',
      ...common(scope, 'select', 'backend_mode', 'Backend mode'),
      ...reads(scope, 'mode'),
      command_topic: scope.command('mode'),
      options: MODE_OPTIONS,
      icon: 'mdi:tune',
    } satisfies Select,
    load: { ...button(scope, 'load', 'Load model'), icon: 'mdi:tray-arrow-up' },
    unload: { ...button(scope, 'unload', 'Unload model'), icon: 'mdi:tray-arrow-down' },
    drill: { ...button(scope, 'drill', 'Run drill'), icon: 'mdi:fire-alert', entity_category: 'config' },
    keep_loaded: {
      platform: 'switch',
      ...common(scope, 'switch', 'keep_loaded', 'Keep loaded'),
      ...reads(scope, 'keep_loaded'),
      command_topic: scope.command('keep_loaded'),
      icon: 'mdi:pin',
    } satisfies Switch,
  };
}

function gpuMemory(metric: Scope): Component {
  return {
    ...memory(metric, 'gpu_memory_available', 'GPU memory available'),
    entity_category: 'diagnostic',
  };
}

/** Only once the host's memory is known: a number needs its maximum. */
function ramBudget(scope: HomeScope): Record<string, Component> {
  if (scope.ramBudgetMax === null) return {};
  const config = { device_class: 'data_size', unit_of_measurement: 'GiB', step: 0.1 } as const;
  return {
    ram_budget: number(scope, 'ram_budget', 'RAM budget', { ...config, max: scope.ramBudgetMax }),
  };
}

/** Every word of a union, in order: a word that is missing or too much does not compile. */
function words<T extends string>(all: Record<T, 1>): readonly T[] {
  return Object.keys(all) as T[];
}
