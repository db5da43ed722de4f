/**
 * Facts: what happened, numbered, durable, told to every sink. The names and fields are the event contract.
 */
import type { DrillScenario, DrillVerdict } from './drill.ts';
import type { SettingChange, SettingValue } from './request.ts';
import type { Mode, Placement, Reason } from './types.ts';

/** Types that something tells. They are announced to Home Assistant, which refuses an event of another one. */
export const TOLD_TYPES = [
  'model_loading',
  'model_loaded',
  'model_unloading',
  'model_unloaded',
  'load_failed',
  'request_failed',
  'failover',
  'failover_failed',
  'recovered',
  'backend_crashed',
  'out_of_memory',
  'gpu_lost',
  'gpu_back',
  'cpu_fallback_detected',
  'load_refused',
  'drill_started',
  'drill_finished',
  'mode_changed',
  'setting_changed',
  'config_reloaded',
  'broker_lost',
  'broker_back',
] as const;

/** Types of the event contract that nothing tells yet: they have their words, and are announced by no one. */
export const UNTOLD_TYPES = [
  'ram_pressure',
  'ram_relieved',
  'vram_pressure',
  'vram_relieved',
  'duplicate_model',
  'image_pulling',
  'image_pulled',
  'image_pull_failed',
  'download_finished',
  'download_failed',
] as const;

export const FACT_TYPES = [...TOLD_TYPES, ...UNTOLD_TYPES] as const;

export type FactType = (typeof FACT_TYPES)[number];
export type ToldType = (typeof TOLD_TYPES)[number];

/** Fields that any fact may carry beside its type; each is documented where it is first set. */
export interface FactBody {
  readonly type: FactType;
  readonly model?: string;
  readonly placement?: Placement;
  readonly engine?: string;
  /** The client's id of the first request concerned. */
  readonly requestId?: string;
  /** All requests concerned, up to 16. */
  readonly requestIds?: readonly string[];
  readonly reason?: Reason;
  /** Plain words beside the reason: Docker's error, the decisive log line. */
  readonly detail?: string;
  /** How many facts of one type were merged. */
  readonly count?: number;
  /** Where requests went (failover) or came back to (recovered). */
  readonly to?: Placement;
  /** Seconds: a load, an unload, an outage. */
  readonly seconds?: number;
  /** Bytes that a model takes or gave back. */
  readonly bytes?: number;
  /** Bytes of device memory among them. */
  readonly vram?: number;
  /** Bytes needed and bytes to be had, for a refusal. */
  readonly need?: number;
  readonly room?: number;
  /** Why a model was unloaded. */
  readonly why?: 'idle' | 'command' | 'mode' | 'config' | 'room' | 'failed' | 'recovered' | 'shutdown';
  readonly mode?: Mode;
  /** A setting: its path in the configuration, what it was, what it is, and where that comes from. */
  readonly key?: string;
  readonly from?: SettingValue;
  readonly value?: SettingValue;
  readonly source?: SettingChange['source'];
  readonly image?: string;
  readonly attempts?: number;
  /** Our stable code of a failed request. */
  readonly code?: string;
  /** What a drill does, and what it found; `detail` says why. */
  readonly scenario?: DrillScenario;
  readonly verdict?: DrillVerdict;
}

/** A fact as the core decides it: one of a type that is not announced does not compile. */
export interface NewFact extends FactBody {
  readonly type: ToldType;
}

/** A fact as told: `seq` grows by one and survives restarts, `time` is ISO 8601 with zone. */
export interface Fact extends FactBody {
  readonly v: 1;
  readonly seq: number;
  readonly time: string;
}
