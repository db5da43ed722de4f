/**
 * A request and what can become of its attempts. A request has one internal id (a number, never reused in
 * a run) and, for people, the id that its client sent or that was made for it.
 */
import type { ErrorCode } from './codes.ts';
import type { Placement } from './types.ts';

export type RequestId = number;
export type InstanceId = string;

/** What the HTTP edge reads of a request before it asks for an instance. */
export interface NewRequest {
  readonly id: RequestId;
  /** `X-Request-Id`, echoed to the client and told in events. */
  readonly externalId: string;
  /** Name or alias as the client sent it; null where none was given. */
  readonly model: string | null;
  /** The path, as in `/v1/chat/completions`. */
  readonly path: string;
  readonly stream: boolean;
  /** `Llamastead-Replay: never`. */
  readonly neverReplay: boolean;
  /** It is the running drill's own. */
  readonly drill?: boolean;
  /** Until the grant: monotonic ms; null: the configured one. */
  readonly deadlineMs: number | null;
  /** Whom it counts for in the line: never a secret, never shown. */
  readonly client: string;
  /** Work that nobody waits for, such as a chat's title: it stands behind chat. */
  readonly background: boolean;
  /** Bytes of the body without pictures, which bound the prompt; null: it is none that is read as a prompt. */
  readonly promptBytes: number | null;
}

/**
 * How much of an answer has reached the client. `content`: only plain text that could be continued. Whole answers
 * are held, so `nothing` until they are complete.
 */
export type Forwarded = 'nothing' | 'content' | 'more';

/** What the socket and HTTP showed when an attempt did not end with a whole answer. */
export type Failure =
  /** ECONNREFUSED, or no connection within the connect deadline: not processed. */
  | { readonly kind: 'refused' }
  /** 503 Loading model: not processed. */
  | { readonly kind: 'loading' }
  /** The connection was reset or ended before the answer was whole. `reused`: it had carried a request before. */
  | { readonly kind: 'reset'; readonly reused: boolean }
  /** No first content in time. */
  | { readonly kind: 'first_token_deadline' }
  /** Content stopped for longer than the stall limit. */
  | { readonly kind: 'stall' }
  /** Silent, and without an answer when it was asked for a sign of life. */
  | { readonly kind: 'frozen' }
  /** An error answer, or an error event inside the stream. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly message: string;
      /** The prompt is too long, as llama-server tells it. */
      readonly overflow?: Overflow;
    }
  /** The instance is well, but can't go on with the text that was forwarded; `why` ends a sentence. */
  | { readonly kind: 'not_resumable'; readonly why: string };

/** A prompt that is too long: its tokens, and those of the context. */
export interface Overflow {
  readonly tokens: number;
  readonly context: number;
}

export type Outcome =
  | { readonly kind: 'completed' }
  /** `finished`: it left after the chunk with finish_reason, a normal end. */
  | { readonly kind: 'client_gone'; readonly finished: boolean }
  /** No content by the client's own deadline: nobody's fault, and nobody waits for another attempt. */
  | { readonly kind: 'deadline' }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly forwarded: Forwarded };

/** Codes of our own errors by which a request ends. */
export type RefusalCode = Extract<
  ErrorCode,
  | 'invalid_request'
  | 'unknown_model'
  | 'queue_full'
  | 'capacity'
  | 'preparing'
  | 'mode_off'
  | 'deadline'
  | 'backend_failed'
  | 'poison'
  | 'failed_after_output'
  /** Told in llama-server's form. */
  | 'context_exceeded'
>;

/** An explicit end of a request that was not answered. */
export interface Refusal {
  readonly code: RefusalCode;
  /** Plain English, with the numbers that decide. */
  readonly message: string;
  /** Seconds for `Retry-After`; null: trying again does not help (`x-should-retry: false`). */
  readonly retryAfter: number | null;
  readonly overflow?: Overflow;
}

/** A request that is waiting or running. */
export interface Request {
  readonly id: RequestId;
  readonly externalId: string;
  readonly model: string;
  readonly path: string;
  readonly stream: boolean;
  readonly neverReplay: boolean;
  readonly client: string;
  readonly background: boolean;
  readonly drill: boolean;
  readonly promptBytes: number | null;
  /** Prompt tokens as an instance counted them; null: not counted. */
  tokens: number | null;
  /** Whether an instance was asked to count them. */
  counting: 'no' | 'asked' | 'done';
  readonly receivedAt: number;
  /** How long it may wait: the client's own deadline, else the configured one (ms). */
  readonly patienceMs: number;
  /** Of its wait, or until the first content where it is the client's own; later where it waits again. */
  deadlineAt: number;
  /** The client named it, so it runs until the first content. */
  readonly ownDeadline: boolean;
  /** Its client's turn in the line: the lowest has waited longest. */
  ticket: number;
  phase: RequestPhase;
  /** Attempts that were forwarded and counted. */
  attempts: number;
  /** Placements that failed it. */
  readonly tried: Set<Placement>;
  /** Why the last placement failed it; for the answer's comment and the events. */
  lastFailure: string | null;
  /** Its connection was stale and it was sent again: a refusal now means that the instance died under it. */
  sentAgain: boolean;
  /** Plain text of it was forwarded: it only goes on where it can be continued. Null: it starts anew. */
  continues: Continuation | null;
  /** Its attempts were alone on instances that died of it, so often. */
  aloneDeaths: number;
  /** The death after which it is a suspect and runs alone; null: it is none. */
  suspectOf: InstanceId | null;
}

export interface Continuation {
  /** The model file that may go on with the text; null: any. */
  readonly file: string | null;
}

export type RequestPhase =
  | {
      readonly phase: 'waiting';
      readonly since: number;
      readonly notBefore: number;
      /** It had its turn before and keeps it. */
      readonly head: boolean;
    }
  | {
      readonly phase: 'running';
      readonly since: number;
      readonly instance: InstanceId;
      readonly placement: Placement;
    }
  /**
   * Without another try; whether it is poison is open until the evidence of its deaths has come. `body`: its
   * hash, undefined until the edge has told it, null where the edge no longer can.
   */
  | {
      readonly phase: 'judged';
      /** Evidence that has not come by then does not count (monotonic ms). */
      readonly until: number;
      readonly otherwise: Refusal;
      readonly body: string | null | undefined;
    };

/** What a caller asks of a model. */
export type Command =
  | { readonly do: 'load'; readonly model: string }
  | { readonly do: 'unload'; readonly model: string }
  | { readonly do: 'restart'; readonly model: string };

/** A value as the admin API shows it: durations in seconds, sizes in bytes; lists as JSON. */
export type SettingValue = string | number | boolean | null;

/** A setting that a person changed. It comes with the policy that it made; what is left is to tell it. */
export interface SettingChange {
  /** The configuration's own path: `memory.budget`, `models.chat.mode`. */
  readonly key: string;
  readonly model?: string;
  readonly from: SettingValue;
  readonly to: SettingValue;
  /** Where the value that holds now comes from. */
  readonly source: 'default' | 'file' | 'settings';
}

export type CommandResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };
