/**
 * What the core wants done. Effects are data; the loop runs them by one exhaustive map, and their results
 * come back as inputs.
 */
import type { AttemptEnded } from './inputs.ts';
import type { CommandResult, InstanceId, Refusal, RequestId } from './request.ts';
import type { Placement, Profile } from './types.ts';

/** Everything that the Containers port needs to make an instance. */
export interface InstancePlan {
  readonly instance: InstanceId;
  readonly model: string;
  readonly profile: Profile;
  /** Hard memory limit of the container, bytes; swap is off. */
  readonly memoryLimit: number;
  /** Cap of the host prompt cache, bytes (`LLAMA_ARG_CACHE_RAM`). */
  readonly promptCache: number;
}

export type Effect =
  /** Forward it to this instance now. */
  | {
      readonly type: 'grant';
      readonly request: RequestId;
      readonly instance: InstanceId;
      readonly placement: Placement;
      /** 1 for the first forwarding. */
      readonly attempt: number;
      /** Milliseconds that it waited in all. */
      readonly queuedMs: number;
      /** Why the attempt before failed; null on the first. */
      readonly reason: string | null;
      /** Use a new connection: the reused one was stale. */
      readonly freshConnection: boolean;
    }
  /** End it with an error of ours. */
  | { readonly type: 'refuse'; readonly request: RequestId; readonly refusal: Refusal }
  /** Report the hash of its body by `body_identified`. */
  | { readonly type: 'identify_body'; readonly request: RequestId }
  /** Ask this instance how many tokens the request's prompt has; reports `tokens_counted`. */
  | { readonly type: 'count_tokens'; readonly request: RequestId; readonly instance: InstanceId }
  /** Pass the backend's own error answer on, unchanged. */
  | { readonly type: 'pass_on'; readonly request: RequestId }
  /** Create, start, wait until ready, prove by a tiny completion. */
  | { readonly type: 'start_instance'; readonly plan: InstancePlan }
  /** Take over a running container of ours: read its key and address, prove it. */
  | {
      readonly type: 'adopt_instance';
      readonly instance: InstanceId;
      readonly container: string;
      readonly profile: Profile;
      readonly model: string;
    }
  /**
   * End and remove it. `gentle`: close our connections, SIGTERM, then SIGKILL; `kill`: SIGKILL at once.
   * Reports `instance_exited` evidence first where `examine` is set. `device`: bytes of a card's own memory
   * that it gives back.
   */
  | {
      readonly type: 'remove_instance';
      readonly instance: InstanceId;
      readonly how: 'gentle' | 'kill';
      readonly examine: boolean;
      readonly device: number;
    }
  /** Find out whether it still runs; reports `instance_exited` where it does not. */
  | { readonly type: 'examine_instance'; readonly instance: InstanceId }
  /** Destroy our sockets to it: it will not answer. */
  | { readonly type: 'close_connections'; readonly instance: InstanceId }
  /** Remove a leftover container of ours that no instance stands for. */
  | { readonly type: 'remove_container'; readonly engine: string; readonly container: string }
  | { readonly type: 'estimate_need'; readonly model: string; readonly profile: Profile }
  /** Read the profile's files, so that they are in the page cache; reports `read_ahead_done`. */
  | { readonly type: 'read_ahead'; readonly model: string; readonly profile: Profile }
  | { readonly type: 'sample_host' }
  /** Read the host, then report the end of the attempt again as `sampled`, whatever the reading brought. */
  | { readonly type: 'sample_for_verdict'; readonly attempt: AttemptEnded }
  /** A GPU would be of use and there is none: reports a policy by `configured` where there is one by now. */
  | { readonly type: 'look_for_gpus' }
  | { readonly type: 'answer_command'; readonly id: number; readonly result: CommandResult }
  /** All instances are gone or kept: the process may end. */
  | { readonly type: 'stopped' };
