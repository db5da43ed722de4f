/**
 * What the outside sees of the state: `/admin/state`, the page, MQTT. Sizes in bytes, times ISO 8601 with
 * zone, durations in seconds.
 */
import type { DrillScenario, DrillVerdict } from './drill.ts';
import type { Speed } from './speed.ts';
import type { GpuKind, Mode, ModelStatus, Need, Placement, Problem, Reason } from './types.ts';

export type InstanceStateName = 'starting' | 'ready' | 'draining' | 'stopping' | 'failed' | 'stuck';

export interface ModelView {
  readonly name: string;
  readonly displayName: string;
  readonly aliases: readonly string[];
  readonly task: string;
  readonly mode: Mode;
  readonly status: ModelStatus;
  /** Where it runs now; `none` when nothing is loaded. */
  readonly placement: Placement | 'none';
  readonly placements: readonly Placement[];
  readonly keepLoaded: boolean;
  /** Seconds; null: never. */
  readonly idleUnload: number | null;
  /** When an idle model will be unloaded. */
  readonly unloadAt: string | null;
  readonly context: number;
  readonly parallel: number;
  readonly file: string;
  /** A placement that is out of service, why, and when it is tried again. */
  readonly outage: {
    readonly placement: Placement;
    readonly reason: Reason;
    readonly detail: string | null;
    readonly since: string;
    readonly retryAt: string;
    readonly probing: boolean;
  } | null;
  /** A placement that takes less than configured since its device ran out of memory; a restart sets it back. */
  readonly reduced: {
    readonly placement: Placement;
    readonly parallel: number;
    readonly context: number;
    readonly configured: { readonly parallel: number; readonly context: number };
    readonly since: string;
  } | null;
  readonly lastError: string | null;
  /** Bytes by `ram` and by device; null until estimated. */
  readonly need: Need | null;
  /** Seconds that loads took, by placement, for progress bars. */
  readonly loadSeconds: Readonly<Partial<Record<Placement, number>>>;
  /** As learned from answers, by placement; one that taught nothing is left out. */
  readonly tokensPerSecond: Readonly<Partial<Record<Placement, Speed>>>;
  /** Tokens of an answer that ends by itself, as learned; null: not learned. Nothing is decided by it. */
  readonly answerTokens: number | null;
  readonly lastUsed: string | null;
  /**
   * How ready the CPU fallback waits while a better placement serves, what that costs and saves as measured;
   * null: no CPU placement. `waiting`: nothing to stand by for.
   */
  readonly standby: {
    readonly kind: 'cold' | 'cached' | 'warm';
    readonly state: 'off' | 'waiting' | 'reading' | 'kept' | 'starting' | 'ready' | 'no_room';
    /** Page cache or memory that it takes. */
    readonly bytes: number | null;
    readonly readSeconds: number | null;
    /** Seconds of the last start on the CPU, without and with the file in the page cache. */
    readonly starts: { readonly cold: number | null; readonly cached: number | null };
    /** Bytes, where there is no room. */
    readonly need: number | null;
    readonly room: number | null;
  } | null;
}

export interface InstanceView {
  readonly model: string;
  readonly placement: Placement;
  readonly engine: string;
  readonly state: InstanceStateName;
  /** Container id (12 hex digits); null before it is created. */
  readonly container: string | null;
  readonly since: string;
  /** Placement and memory as read from the running container; null until measured. */
  readonly measured: {
    readonly placement: Placement | null;
    readonly ram: number | null;
    readonly vram: number | null;
  } | null;
  readonly leases: number;
  readonly slots: number;
  readonly memory: number;
}

export interface RequestView {
  readonly id: string;
  readonly model: string;
  readonly path: string;
  readonly phase: 'queued' | 'loading' | 'running';
  readonly placement: Placement | null;
  readonly attempts: number;
  readonly since: string;
  /** Place in its model's line, 1 for the next one; null: it does not wait. */
  readonly position: number | null;
}

export interface MemoryView {
  readonly total: number;
  readonly available: number;
  readonly reserve: number;
  readonly budget: number;
  /** What live instances take of the host's RAM. */
  readonly models: number;
  /** Null: not measured. */
  readonly services: number | null;
}

export interface GpuView {
  readonly name: string;
  readonly kind: GpuKind;
  readonly memory: 'dedicated' | 'shared';
  readonly total: number | null;
  /** By all programs, as its driver tells; null where it does not. */
  readonly used: number | null;
  readonly models: number;
  readonly headroom: number;
}

/** The MQTT broker, as a client at home needs to know it. */
export interface BrokerView {
  readonly kind: 'embedded' | 'external';
  /** Null: the machine that Llamastead runs on. */
  readonly host: string | null;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | null;
  readonly up: boolean;
  /** The file that a password made at the first start stands in; null: the configuration gives one. */
  readonly passwordIn: string | null;
}

/** How other programs at home reach this one. */
export interface ConnectView {
  /** The page's address on the local network; null where it is not known. */
  readonly url: string | null;
  /** The model API asks for a key. */
  readonly keyed: boolean;
  /** Null: MQTT is off. `passwordShown`: the password can be asked for. */
  readonly broker: (BrokerView & { readonly passwordShown: boolean }) | null;
}

export interface Counters {
  readonly requests: number;
  readonly failed: number;
  readonly failovers: number;
}

/** The drill that runs. */
export interface DrillView {
  readonly scenario: DrillScenario;
  readonly model: string;
  readonly since: string;
}

export interface View {
  readonly seq: number;
  readonly time: string;
  readonly version: string;
  readonly home: string;
  readonly models: readonly ModelView[];
  readonly instances: readonly InstanceView[];
  readonly requests: readonly RequestView[];
  readonly leases: number;
  readonly queue: number;
  /** Null until the host's memory was read once. */
  readonly memory: MemoryView | null;
  readonly gpus: readonly GpuView[];
  readonly problems: readonly Problem[];
  readonly drill: DrillView | null;
  readonly counters: Counters;
  readonly lastDrill: {
    readonly time: string;
    readonly model: string;
    readonly scenario: DrillScenario;
    readonly verdict: DrillVerdict;
  } | null;
  readonly lastFailover: {
    readonly time: string;
    readonly model: string;
    readonly reason: Reason;
  } | null;
}
