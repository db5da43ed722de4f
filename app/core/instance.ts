/**
 * The instance machine: one llama-server container from its plan to the proof that it is gone. `stopped` is
 * the absence of an instance. Every move is checked here, so a forgotten case fails a test and not a night.
 */
import type { Measured } from './inputs.ts';
import type { InstanceId, RequestId } from './request.ts';
import type { Need, Placement, Profile, Reason } from './types.ts';

export type UnloadWhy = 'idle' | 'command' | 'mode' | 'config' | 'room' | 'failed' | 'recovered' | 'shutdown';

export type InstancePhase =
  | { readonly state: 'starting'; readonly since: number; readonly adopted: boolean }
  | { readonly state: 'ready'; readonly since: number }
  /** No new leases; removed when the last one ended. */
  | {
      readonly state: 'draining';
      readonly since: number;
      readonly why: UnloadWhy;
      readonly reason: Reason | null;
    }
  /** It failed and is being removed; `examined`: the evidence of the container has come. */
  | { readonly state: 'failed'; readonly since: number; readonly reason: Reason; readonly examined: boolean }
  | { readonly state: 'stopping'; readonly since: number; readonly why: UnloadWhy }
  /** Its container does not go away: its memory counts as taken. */
  | { readonly state: 'stuck'; readonly since: number; readonly detail: string };

export type InstanceState = InstancePhase['state'];

export interface Instance {
  readonly id: InstanceId;
  readonly model: string;
  readonly placement: Placement;
  readonly profile: Profile;
  /** Without parts: adopted before it was estimated. */
  need: Need;
  readonly memoryLimit: number;
  readonly createdAt: number;
  phase: InstancePhase;
  container: string | null;
  measured: Measured | null;
  readonly leases: Set<RequestId>;
  /** The end of the last lease, or the moment it got ready. */
  idleSince: number;
  /** Client ids of the requests that its failure moved elsewhere. */
  readonly moved: string[];
  /** The requests that ran on it when it died; null: nothing has shown its death. */
  inFlight: readonly RequestId[] | null;
  /** The `failover` fact of its failure was told. */
  failoverTold: boolean;
}

const MOVES: Readonly<Record<InstanceState, readonly InstanceState[]>> = {
  starting: ['ready', 'failed', 'stopping'],
  ready: ['draining', 'failed', 'stopping'],
  draining: ['draining', 'failed', 'stopping'],
  failed: ['failed', 'stuck'],
  stopping: ['stuck'],
  stuck: [],
};

/** Whether the machine allows this move. */
export function canMove(from: InstanceState, to: InstanceState): boolean {
  return MOVES[from].includes(to);
}

/** Throws on a move that the machine does not know: a fault of the core, never of its inputs. */
export function checkMove(instance: Instance, to: InstanceState): void {
  if (canMove(instance.phase.state, to)) return;
  throw new Error(
    `instance ${instance.id} (${instance.model}) cannot go from ${instance.phase.state} to ${to}`,
  );
}

export function hasFreeSlot(instance: Instance): boolean {
  return instance.phase.state === 'ready' && instance.leases.size < instance.profile.parallel;
}

/** Whether its removal has begun: its memory will come back. */
export function isLeaving(instance: Instance): boolean {
  const { state } = instance.phase;
  return state === 'stopping' || state === 'failed' || state === 'draining';
}

/** The common fields of facts about an instance. */
export function about(instance: Instance) {
  return { model: instance.model, placement: instance.placement, engine: instance.profile.engine } as const;
}
