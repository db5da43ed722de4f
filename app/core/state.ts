/** The one state that the loop owns. Only `evolve` writes it. */

import type { Drill, LastDrill } from './drill.ts';
import type { Instance } from './instance.ts';
import type { Reduction } from './reduction.ts';
import type { Command, InstanceId, Request, RequestId } from './request.ts';
import type { Speed } from './speed.ts';
import type { Standby } from './standby-state.ts';
import type { HostMemory, Need, Now, Placement, Policy, Problem, Reason } from './types.ts';

/** A placement that is out of service (circuit breaker): why, and when one probe may try it again. */
export interface Outage {
  readonly placement: Placement;
  readonly reason: Reason;
  readonly detail: string | null;
  readonly since: Now;
  readonly retryAt: number;
  /** Failures in a row; the wait grows with it. */
  readonly failures: number;
}

/** The end of an outage. */
export interface Recovery {
  readonly failures: number;
  /** Monotonic ms. */
  readonly at: number;
}

/** A wish to have a model loaded that no request stands behind. */
export interface Wanted {
  readonly since: number;
  /** Placements that failed this wish. */
  readonly tried: ReadonlySet<Placement>;
}

export interface ModelState {
  readonly name: string;
  wanted: Wanted | null;
  /** Unloaded by hand: `keepLoaded` and the return to the GPU rest until the next use. */
  resting: boolean;
  readonly outages: Map<Placement, Outage>;
  /** Placements that came back from an outage: a failure soon after goes on where the outage ended. */
  readonly recovered: Map<Placement, Recovery>;
  /** Since when the engine gives no answer to its starts: of the first one in a row (monotonic ms). */
  readonly unanswered: Map<Placement, number>;
  /** Wall time of the last grant. */
  lastUsed: number | null;
  lastError: string | null;
  standby: Standby;
  readonly loadSeconds: Partial<Record<Placement, number>>;
  /** Mean time that a request holds a slot until it is answered (ms, moving average). */
  readonly serviceMs: Partial<Record<Placement, number>>;
  /** The last prompt that was too long for each placement, told until then (monotonic ms). */
  overflow: { readonly tokens: number; readonly until: number } | null;
  /** Share of a prompt's tokens that are read, since the rest is in the prompt cache (moving average). */
  readonly readShare: Partial<Record<Placement, number>>;
}

export type NeedState =
  /** `problem`: of the try before. */
  | { readonly kind: 'pending'; readonly problem: Problem | null }
  | { readonly kind: 'known'; readonly need: Need }
  | { readonly kind: 'unknown'; readonly problem: Problem; readonly retryAt: number };

export interface PendingCommand {
  readonly id: number;
  readonly command: Command;
  readonly since: number;
  /** Instances that an unload or a restart ends: it is done when they are gone. */
  readonly leaving: ReadonlySet<InstanceId>;
}

export interface Shutdown {
  /** Of the grace; once the connections were cut, of the removals. Monotonic ms. */
  readonly deadline: number;
  /** The grace is over: our connections to busy instances were closed. */
  readonly cut: boolean;
  readonly told: boolean;
}

/** A Docker engine, as far as it is known. */
export interface Engine {
  /** Reachable and observed at least once. */
  readonly observed: boolean;
  readonly problem: Problem | null;
  /** Since when it is away, where it was there before (monotonic ms); null: it is there, or never was. */
  readonly lostAt: number | null;
}

export interface State {
  /** What holds: as configured, less the reductions. */
  policy: Policy | null;
  configured: Policy | null;
  /** By the hash of the profile as configured; replaced as a whole. */
  reductions: ReadonlyMap<string, Reduction>;
  readonly models: Map<string, ModelState>;
  /** Name or alias, to name. */
  readonly names: Map<string, string>;
  readonly instances: Map<InstanceId, Instance>;
  nextInstance: number;
  readonly requests: Map<RequestId, Request>;
  /** Ids of waiting requests as they came; who is next tells `queueOrder`. */
  readonly waiting: RequestId[];
  nextTicket: number;
  /** Running requests whose first content is late: they may have to move to the CPU. */
  readonly slow: Set<RequestId>;
  /** Requests that were in flight together at a death. */
  readonly suspects: Set<RequestId>;
  /** Requests whose end waits for the evidence of a death. */
  readonly judged: Set<RequestId>;
  /** Bodies of convicted requests (hashes), oldest first; refused until a monotonic time. */
  readonly refusedBodies: Map<string, { readonly model: string; readonly until: number }>;
  host: { readonly memory: HostMemory; readonly at: number } | null;
  sampling: boolean;
  /** When an instance last took or gave back memory: older readings of the host do not show it. */
  memoryMovedAt: number;
  /** By profile hash. */
  readonly needs: Map<string, NeedState>;
  /** Profile hashes whose memory limit was raised after a kill by it, the last one last; replaced as a whole. */
  raisedLimits: ReadonlySet<string>;
  /** Learned, by profile hash; the one that changed last comes last. */
  readonly speeds: Map<string, Speed>;
  /**
   * Tokens of an answer that ended by itself (moving average), by model; the one that changed last comes last. Only
   * shown: a limit of tokens is a bound and no expectation, and so is this.
   */
  readonly answerTokens: Map<string, number>;
  readonly engines: Map<string, Engine>;
  /** By code and model. */
  readonly problems: Map<string, Problem>;
  readonly commands: Map<number, PendingCommand>;
  /** The earliest moment at which something may come due (monotonic ms); Infinity: nothing. */
  nextDue: number;
  shutdown: Shutdown | null;
  /** The drill that runs. */
  drill: Drill | null;
  readonly counters: { requests: number; failed: number; failovers: number };
  lastFailover: { readonly at: number; readonly model: string; readonly reason: Reason } | null;
  lastDrill: LastDrill | null;
  /** Grows with every fold: readers of the view see by it whether something changed. */
  version: number;
}

/** What a run takes over from the one before. */
export interface Carried {
  readonly counters: State['counters'];
  readonly lastFailover: State['lastFailover'];
  readonly lastDrill: LastDrill | null;
  readonly speeds: Readonly<Record<string, Speed>>;
  readonly answerTokens: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, Reduction>>;
  readonly raisedLimits: readonly string[];
}

export function emptyState(carried: Partial<Carried> = {}): State {
  return {
    policy: null,
    configured: null,
    reductions: new Map(Object.entries(carried.reductions ?? {})),
    models: new Map(),
    names: new Map(),
    instances: new Map(),
    nextInstance: 1,
    requests: new Map(),
    waiting: [],
    nextTicket: 1,
    slow: new Set(),
    suspects: new Set(),
    judged: new Set(),
    refusedBodies: new Map(),
    host: null,
    sampling: false,
    memoryMovedAt: 0,
    needs: new Map(),
    raisedLimits: new Set(carried.raisedLimits),
    speeds: new Map(Object.entries(carried.speeds ?? {})),
    answerTokens: new Map(Object.entries(carried.answerTokens ?? {})),
    engines: new Map(),
    problems: new Map(),
    commands: new Map(),
    nextDue: Number.POSITIVE_INFINITY,
    shutdown: null,
    drill: null,
    counters: { requests: 0, failed: 0, failovers: 0, ...carried.counters },
    lastFailover: carried.lastFailover ?? null,
    lastDrill: carried.lastDrill ?? null,
    version: 0,
  };
}

/** Instances of one model, in no particular order. */
export function instancesOf(state: State, model: string): Instance[] {
  const found: Instance[] = [];
  for (const instance of state.instances.values()) if (instance.model === model) found.push(instance);
  return found;
}

/** Whether a request waits for the model. */
export function isAwaited(state: State, model: string): boolean {
  return state.waiting.some((id) => state.requests.get(id)?.model === model);
}

/** Whether a request may need the CPU soon, though a better placement is ready. */
export function isExpected(state: State, model: string): boolean {
  for (const id of state.slow) if (state.requests.get(id)?.model === model) return true;
  return false;
}

/** As configured now: a running instance does not know of a change. */
export function isKeptWarm(state: State, model: string): boolean {
  return state.policy?.models.get(model)?.profiles.cpu?.standby === 'warm';
}

/** A warm CPU instance while a better placement of its model serves. */
export function isStandingBy(state: State, { model, placement }: Instance): boolean {
  if (placement !== 'cpu' || !isKeptWarm(state, model)) return false;
  return instancesOf(state, model).some((one) => one.placement !== 'cpu' && one.phase.state === 'ready');
}
