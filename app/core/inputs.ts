/**
 * Everything that can reach the core: what people ask, what parts report, what time brings. An effect's
 * result comes back as an input too.
 */
import type { DrillScenario, DrillVerdict } from './drill.ts';
import type { Command, InstanceId, NewRequest, Outcome, RequestId, SettingChange } from './request.ts';
import type { Timings } from './speed.ts';
import type { ExitEvidence, Gpu, HostMemory, Need, Placement, Policy, Problem, ProblemId } from './types.ts';

/** A container with our label, as an observation of an engine shows it. */
export interface ObservedContainer {
  readonly container: string;
  readonly engine: string;
  readonly model: string;
  readonly placement: Placement;
  /** The label `.config`: hash of the profile that it was made from. */
  readonly hash: string;
  readonly running: boolean;
  /** The instance that this process has for it; null after a restart of the controller. */
  readonly instance: InstanceId | null;
}

/** What a running instance shows of itself. */
export interface Measured {
  readonly placement: Placement | null;
  readonly ram: number | null;
  readonly vram: number | null;
}

export interface AttemptEnded {
  readonly type: 'attempt_ended';
  readonly request: RequestId;
  readonly outcome: Outcome;
  /** What the instance measured of a finished answer. */
  readonly timings?: Timings | null;
  /** The host was read for its verdict. */
  readonly sampled?: true;
}

export type Input =
  | {
      readonly type: 'configured';
      readonly policy: Policy;
      readonly why: 'start' | 'scan' | 'reload' | 'settings';
      /** What was changed by it, to be told. */
      readonly settings?: readonly SettingChange[];
      /** GPUs that can be used now and could not before. */
      readonly gpus?: readonly Gpu[];
    }
  /** A deadline may have come due. */
  | { readonly type: 'tick' }
  // Requests, from the HTTP edge.
  /** `body`: hash of its body where bodies are refused just now, else null. */
  | { readonly type: 'request_received'; readonly request: NewRequest; readonly body: string | null }
  | AttemptEnded
  /** `body`: hash of its body; null: its client is gone, and the body with it. */
  | { readonly type: 'body_identified'; readonly request: RequestId; readonly body: string | null }
  /** Half of the time to its first content is over, and there is none. */
  | { readonly type: 'request_slow'; readonly request: RequestId }
  /** A file was read into the page cache; `read` null: it could not be. */
  | {
      readonly type: 'read_ahead_done';
      readonly model: string;
      readonly hash: string;
      readonly read: { readonly bytes: number; readonly seconds: number } | null;
    }
  /** The client went while its request was waiting. */
  | { readonly type: 'request_abandoned'; readonly request: RequestId }
  /** The answer to `count_tokens`; null: the instance could not tell. */
  | { readonly type: 'tokens_counted'; readonly request: RequestId; readonly tokens: number | null }
  // Instances, from the Containers port.
  /** The container runs and the program answers: a tiny completion proved it. */
  | {
      readonly type: 'instance_ready';
      readonly instance: InstanceId;
      readonly container: string;
      readonly measured: Measured;
    }
  /** Could not be created, started, or did not get ready. */
  | { readonly type: 'instance_start_failed'; readonly instance: InstanceId; readonly evidence: ExitEvidence }
  /** Docker says that it ended, or an examination found it so. */
  | { readonly type: 'instance_exited'; readonly instance: InstanceId; readonly evidence: ExitEvidence }
  /** Docker says that it was paused; its sockets are silent from now on. */
  | { readonly type: 'instance_paused'; readonly instance: InstanceId }
  /** Its container is gone, and its memory is back or the wait for it ended. */
  | { readonly type: 'instance_removed'; readonly instance: InstanceId; readonly memoryBack: boolean }
  | { readonly type: 'instance_stuck'; readonly instance: InstanceId; readonly detail: string }
  | {
      readonly type: 'containers_observed';
      readonly engine: string;
      readonly containers: readonly ObservedContainer[];
    }
  | { readonly type: 'engine_reachable'; readonly engine: string }
  | { readonly type: 'engine_unreachable'; readonly engine: string; readonly problem: Problem }
  // Memory.
  | { readonly type: 'host_sampled'; readonly host: HostMemory }
  | { readonly type: 'need_estimated'; readonly hash: string; readonly need: Need }
  /** The file is missing, truncated or no GGUF. */
  | { readonly type: 'need_unknown'; readonly hash: string; readonly problem: Problem }
  // People and programs.
  | { readonly type: 'command'; readonly id: number; readonly command: Command }
  | { readonly type: 'problem_seen'; readonly problem: Problem }
  | ({ readonly type: 'problem_gone' } & ProblemId)
  | { readonly type: 'broker_changed'; readonly up: boolean; readonly detail: string | null }
  // A drill.
  | {
      readonly type: 'drill_began';
      readonly id: string;
      readonly scenario: DrillScenario;
      readonly model: string;
    }
  /** Its failure was made: other requests may go where they can. */
  | { readonly type: 'drill_eased' }
  /** It is about to make its failure once more. */
  | { readonly type: 'drill_sealed' }
  /** One that was run from outside is over. */
  | {
      readonly type: 'drill_reported';
      readonly scenario: DrillScenario;
      readonly model: string;
      readonly verdict: DrillVerdict;
      readonly why: string;
      /** Of the whole drill. */
      readonly seconds: number;
    }
  | { readonly type: 'drill_ended'; readonly verdict: DrillVerdict; readonly why: string }
  | { readonly type: 'shutdown' };
