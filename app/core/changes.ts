/** Changes: what becomes different in the state. Folded by `evolve`, counted, then dropped. */

import type { Drill } from './drill.ts';
import type { Effect } from './effects.ts';
import type { NewFact } from './facts.ts';
import type { Measured } from './inputs.ts';
import type { Instance, InstancePhase } from './instance.ts';
import type { Reduction } from './reduction.ts';
import type { Continuation, InstanceId, Refusal, Request, RequestId } from './request.ts';
import type { Speed } from './speed.ts';
import type { Standby } from './standby-state.ts';
import type { ModelState, Outage, PendingCommand, Recovery, Shutdown, Wanted } from './state.ts';
import type { HostMemory, Need, Placement, Policy, Problem } from './types.ts';

export type Change =
  | { readonly type: 'policy_set'; readonly policy: Policy }
  // Requests.
  | { readonly type: 'request_added'; readonly request: Request }
  /** At the head of the line where it had its turn before. */
  | {
      readonly type: 'request_waits';
      readonly request: RequestId;
      readonly head: boolean;
      readonly since: number;
      readonly notBefore: number;
      /** Monotonic ms. */
      readonly deadlineAt: number;
    }
  /** An instance was asked how many tokens its prompt has. */
  | { readonly type: 'count_asked'; readonly request: RequestId }
  /** Null: it could not be told. */
  | { readonly type: 'prompt_counted'; readonly request: RequestId; readonly tokens: number | null }
  | {
      readonly type: 'request_granted';
      readonly request: RequestId;
      readonly instance: InstanceId;
      readonly placement: Placement;
      readonly at: number;
      readonly wall: number;
    }
  /**
   * Its lease ended; `counted` false: the instance did not process it, so it was no attempt; `served`: it was
   * answered, so its time is a service time.
   */
  | {
      readonly type: 'lease_ended';
      readonly request: RequestId;
      readonly at: number;
      readonly counted: boolean;
      readonly served: boolean;
    }
  | { readonly type: 'request_sent_again'; readonly request: RequestId }
  | {
      readonly type: 'request_continues';
      readonly request: RequestId;
      readonly continuation: Continuation;
    }
  | {
      readonly type: 'attempt_failed';
      readonly request: RequestId;
      readonly placement: Placement;
      readonly failure: string;
    }
  | { readonly type: 'request_moved'; readonly request: RequestId; readonly from: InstanceId }
  | { readonly type: 'request_slow'; readonly request: RequestId; readonly on: boolean }
  /** It runs alone from now on, by this death; null: it is no suspect any more. */
  | { readonly type: 'request_suspected'; readonly request: RequestId; readonly by: InstanceId | null }
  /** The instance that it was alone on died of it, not of an outside cause. */
  | { readonly type: 'request_blamed'; readonly request: RequestId }
  /** No more tries; it ends as poison or with `otherwise` when the evidence has come. */
  | {
      readonly type: 'request_judged';
      readonly request: RequestId;
      readonly until: number;
      readonly otherwise: Refusal;
    }
  | { readonly type: 'body_known'; readonly request: RequestId; readonly body: string | null }
  | {
      readonly type: 'body_refused';
      readonly body: string;
      readonly model: string;
      readonly until: number;
    }
  | { readonly type: 'body_released'; readonly body: string }
  | { readonly type: 'request_closed'; readonly request: RequestId; readonly answered: boolean }
  // Instances.
  | { readonly type: 'instance_added'; readonly instance: Instance }
  | { readonly type: 'instance_moved'; readonly instance: InstanceId; readonly phase: InstancePhase }
  | {
      readonly type: 'instance_known';
      readonly instance: InstanceId;
      readonly container: string;
      readonly measured: Measured;
    }
  | {
      readonly type: 'death_seen';
      readonly instance: InstanceId;
      readonly inFlight: readonly RequestId[];
    }
  | { readonly type: 'failover_told'; readonly instance: InstanceId }
  | { readonly type: 'instance_gone'; readonly instance: InstanceId; readonly at: number }
  // Models.
  | { readonly type: 'wanted_set'; readonly model: string; readonly wanted: Wanted | null }
  | { readonly type: 'standby_set'; readonly model: string; readonly standby: Partial<Standby> }
  | { readonly type: 'resting_set'; readonly model: string; readonly on: boolean }
  | { readonly type: 'model_error'; readonly model: string; readonly error: string | null }
  | {
      readonly type: 'load_timed';
      readonly model: string;
      readonly placement: Placement;
      readonly seconds: number;
    }
  | {
      readonly type: 'overflow_set';
      readonly model: string;
      readonly overflow: ModelState['overflow'];
    }
  | {
      readonly type: 'share_learned';
      readonly model: string;
      readonly placement: Placement;
      readonly share: number;
    }
  /** Tokens of one answer. */
  | { readonly type: 'length_learned'; readonly model: string; readonly tokens: number }
  /** By profile hash. */
  | { readonly type: 'speed_learned'; readonly hash: string; readonly speed: Speed }
  | { readonly type: 'outage_set'; readonly model: string; readonly outage: Outage }
  /** Null: as configured again. `hash`: of the profile as configured. */
  | { readonly type: 'reduction_set'; readonly hash: string; readonly reduction: Reduction | null }
  | {
      readonly type: 'outage_ended';
      readonly model: string;
      readonly placement: Placement;
      readonly recovery: Recovery;
    }
  /** Null: the engine answered one. */
  | {
      readonly type: 'start_unanswered';
      readonly model: string;
      readonly placement: Placement;
      readonly since: number | null;
    }
  // Memory.
  | { readonly type: 'host_known'; readonly memory: HostMemory; readonly at: number }
  | { readonly type: 'sampling'; readonly on: boolean }
  | { readonly type: 'need_pending'; readonly hash: string }
  | { readonly type: 'need_known'; readonly hash: string; readonly need: Need }
  | {
      readonly type: 'need_unknown';
      readonly hash: string;
      readonly problem: Problem;
      readonly retryAt: number;
    }
  | { readonly type: 'need_forgotten'; readonly hash: string }
  | { readonly type: 'limit_raised'; readonly hash: string }
  // The rest.
  | {
      readonly type: 'engine_set';
      readonly engine: string;
      readonly observed: boolean;
      readonly problem: Problem | null;
      readonly lostAt: number | null;
    }
  | { readonly type: 'problem_set'; readonly problem: Problem }
  | { readonly type: 'problem_cleared'; readonly key: string }
  | { readonly type: 'command_added'; readonly command: PendingCommand }
  | { readonly type: 'command_done'; readonly id: number }
  | { readonly type: 'shutdown_set'; readonly shutdown: Shutdown }
  | { readonly type: 'drill_set'; readonly drill: Drill | null }
  /** Something comes due at this moment. */
  | { readonly type: 'due_at'; readonly at: number }
  | { readonly type: 'due_reset'; readonly at: number };

/** What `decide` returns. Collected by pushing: one array of each kind, no copies. */
export interface Decision {
  readonly changes: Change[];
  readonly facts: NewFact[];
  readonly effects: Effect[];
}

export function noDecision(): Decision {
  return { changes: [], facts: [], effects: [] };
}

export function isEmpty(decision: Decision): boolean {
  return decision.changes.length === 0 && decision.facts.length === 0 && decision.effects.length === 0;
}
