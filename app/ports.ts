/**
 * The narrow ports between the core's executors and the outside, in our words (types only). Adapters
 * implement them; fakes pass the same contract tests as the real parts.
 */
import type { Effect, InstancePlan } from './core/effects.ts';
import type { Fact } from './core/facts.ts';
import type { Input, Measured } from './core/inputs.ts';
import type {
  Command,
  CommandResult,
  InstanceId,
  NewRequest,
  Outcome,
  Refusal,
  RequestId,
} from './core/request.ts';
import type { Timings } from './core/speed.ts';
import type { ExitEvidence, HostMemory, Need, Now, Placement, Problem, Profile } from './core/types.ts';
import type { View } from './core/view.ts';
import type { Harm, OtherContainer } from './ports/drills.ts';

/** Time, so that tests can move it. */
export interface Clock {
  now(): Now;
  /** Calls back once at or after `mono`; the returned function cancels. */
  at(mono: number, callback: () => void): () => void;
}

/** Where an instance listens. The key is a secret: it never reaches a log, an event or the core. */
export interface InstanceAddress {
  readonly host: string;
  readonly port: number;
  readonly key: string;
}

/** What the Containers port reports by itself; the composition root turns each into an input. */
export type ContainersInput = Extract<
  Input,
  {
    type:
      | 'instance_exited'
      | 'instance_paused'
      | 'containers_observed'
      | 'engine_reachable'
      | 'engine_unreachable'
      | 'problem_seen'
      | 'problem_gone';
  }
>;

/** Result of a start or an adoption. */
export type StartResult =
  | { readonly ok: true; readonly container: string; readonly measured: Measured }
  | { readonly ok: false; readonly evidence: ExitEvidence };

/** llama-server containers of one home on one or more Docker engines. */
export interface Containers {
  /**
   * Connects, finds out who we are, makes the holder, observes, then follows events; retries by itself.
   * Resolves after the first try on each engine, good or bad; the reports tell which.
   */
  open(report: (input: ContainersInput) => void): Promise<void>;
  /**
   * Resolves when the instance answered a tiny completion, or with the evidence of its failure; never rejects.
   * A failed start or adoption leaves its container, if there is one, to `remove`.
   */
  start(plan: InstancePlan): Promise<StartResult>;
  adopt(instance: InstanceId, container: string, profile: Profile, model: string): Promise<StartResult>;
  /** Undefined before it runs and after its removal began. */
  address(instance: InstanceId): InstanceAddress | undefined;
  /** Exit code, OOM mark, last log lines; waits up to 500 ms for a dying container to be dead. */
  examine(instance: InstanceId): Promise<ExitEvidence>;
  /**
   * Ends and removes the container; resolves when it is gone, and the memory of the host that it took with it.
   * Rejects with AppError `stuck` when it is not gone after 10 s.
   */
  remove(instance: InstanceId, how: 'gentle' | 'kill'): Promise<void>;
  removeContainer(engine: string, container: string): Promise<void>;
  /**
   * For a drill, on one of our own instances. Rejects with AppError `not_possible` where the engine cannot do
   * it, in its own words.
   */
  harm(instance: InstanceId, how: Harm): Promise<void>;
  /** Rejects with AppError `docker_unreachable`. */
  others(): Promise<readonly OtherContainer[]>;
  /** Working memory of every running container that is not ours, summed (bytes); null where it cannot be read. */
  servicesMemory(): Promise<number | null>;
  /** Cards that only a container of ours can ask. */
  readonly devices: readonly DeviceMemory[];
  /** Stops following; with `holders` the holder containers are removed as well. */
  close(options: { holders: boolean }): Promise<void>;
}

export interface Host {
  sample(): Promise<HostMemory>;
}

export interface DeviceMemory {
  /** By PCI address, of all graphics cards that tell it: what is known at once, of the last seconds. */
  cards(): Promise<HostMemory['cards']>;
  /** Read after this call; one that tells nothing for 3 s is not among them. */
  fresh(): Promise<HostMemory['cards']>;
}

/** Memory that a profile will take. Rejects with AppError `model_unreadable` whose details hold a Problem. */
export interface Estimator {
  need(profile: Profile): Promise<Need>;
}

/** A GGUF file below the models folder, as the scan found it. */
export interface ModelFile {
  /** Relative to the models folder, with `/`. */
  readonly file: string;
  readonly size: number;
  readonly projector: string | null;
  readonly trainedContext: number | null;
  readonly architecture: string;
  readonly pooling: 'none' | 'embedding' | 'rerank';
}

export interface ModelFiles {
  /** Every usable model, and a problem for each file or folder that is not. */
  scan(): Promise<{ readonly files: readonly ModelFile[]; readonly problems: readonly Problem[] }>;
}

/** Numbered facts: durable before they are told. */
export interface EventLog {
  /** The newest number. */
  readonly seq: number;
  /** Oldest first; `gap`: events after `since` are no longer kept. */
  since(
    seq: number,
    limit: number,
  ): { readonly events: readonly Fact[]; readonly next: number; readonly gap: boolean };
  /** Called for each fact after it is durable, in order; the returned function ends it. */
  subscribe(listener: (fact: Fact) => void): () => void;
}

/** What the HTTP edge is told of its request; each method is called synchronously from the loop. */
export interface Waiter {
  granted(grant: Extract<Effect, { type: 'grant' }>): void;
  refused(refusal: Refusal): void;
  /** The backend's own error answer is the answer. */
  passOn(): void;
  /** Asks the instance how many tokens the prompt has; null: it cannot tell. Not told once the request has ended. */
  countTokens(instance: InstanceId, tell: (tokens: number | null) => void): void;
  /** Tells the same body of the same path by the same text. Costs a pass over the body; null when it has ended. */
  bodyHash(): string | null;
}

/** The loop as the edges see it. */
export interface Gate {
  request(request: NewRequest, waiter: Waiter): void;
  /** After `failed` and `deadline` the waiter is told what follows, perhaps before this returns. */
  attemptEnded(request: RequestId, outcome: Outcome, timings?: Timings | null): void;
  abandoned(request: RequestId): void;
  /** Half of the time to its first content is over, and there is none. */
  slow(request: RequestId): void;
  /** Place of a waiting request in its model's line, 1 for the next one; null: it does not wait. */
  position(request: RequestId): number | null;
  /** Resolves when the command is done or failed; `accepted` is the newest fact number at once. */
  command(command: Command): { readonly accepted: number; readonly done: Promise<CommandResult> };
  view(): View;
  /** Called when the view changed, at most once a loop turn; read it by `view()`. */
  onChange(listener: () => void): () => void;
}

/** One running total that metrics and sensors read; kept by the HTTP edge. */
export interface AttemptMeasurement extends Timings {
  readonly model: string;
  readonly placement: Placement;
  readonly firstTokenMs: number | null;
}

/** Values that a person may set from the page or Home Assistant. */
export interface Settings {
  /** Every setting with its value (durations in seconds, sizes in bytes) and where it came from. */
  list(): Readonly<
    Record<string, { readonly value: unknown; readonly source: 'default' | 'file' | 'settings' }>
  >;
  /**
   * `key` is the configuration's path with dots (`models.chat.idleUnload`), `value` as the file has it
   * (`10m`, `6GiB`, `never`); a number is seconds or bytes, as `list` gives it. Rejects with AppError
   * `invalid_setting` that names key, value and what was expected.
   */
  set(key: string, value: unknown): Promise<void>;
  /** Sets all or, where one is refused, none. Rejects like `set`. */
  setAll(entries: Readonly<Record<string, unknown>>): Promise<void>;
  reset(key: string): Promise<void>;
}

/**
 * One small JSON document that survives a crash: after it there is the old content or the new, never a part
 * of one.
 */
export interface JsonFile {
  /** `broken`: it was no JSON and is kept under the name `aside`. `unreadable`: the disk did not give it. */
  read(): Promise<
    | { readonly found: 'nothing' }
    | { readonly found: 'data'; readonly data: unknown }
    | { readonly found: 'broken'; readonly aside: string }
    | { readonly found: 'unreadable'; readonly cause: string }
  >;
  /** Durable when it resolves. Rejects with AppError `state_unwritable`. */
  write(data: unknown): Promise<void>;
  /** Copies the present document under another name, which it gives. Never rejects. */
  keepAside(): Promise<string>;
}
