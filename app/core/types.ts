/**
 * The words of the domain. Sizes are bytes, durations and times milliseconds unless a name says otherwise.
 */
import type { ProblemCode } from './codes.ts';

/** Two readings of one moment: `mono` never jumps and orders deadlines, `wall` is for people (Unix ms). */
export interface Now {
  readonly mono: number;
  readonly wall: number;
}

/** Where a model runs: all layers on the GPU, a planned CPU/GPU split, or the independent CPU fallback. */
export type Placement = 'gpu' | 'split' | 'cpu';
export const PLACEMENTS: readonly Placement[] = ['gpu', 'split', 'cpu'];

/** What the user allows: `auto` every placement of the model, `gpu` also split, `off` none. */
export type Mode = 'auto' | 'gpu' | 'cpu' | 'off';
export const MODES: readonly Mode[] = ['auto', 'gpu', 'cpu', 'off'];

export type ModelStatus = 'stopped' | 'starting' | 'ready' | 'busy' | 'draining' | 'degraded' | 'failed';

export type Task = 'chat' | 'embedding' | 'rerank';

export type GpuKind = 'nvidia' | 'amd' | 'intel' | 'vulkan';

/** A GPU that instances can be given. */
export interface Gpu {
  readonly name: string;
  readonly kind: GpuKind;
  readonly engine: string;
  /** llama.cpp device names (`CUDA0`, `Vulkan0`); named in every start, so that a missing GPU fails. */
  readonly devices: readonly string[];
  /** Environment for the containers that use it (`GGML_VK_VISIBLE_DEVICES`). */
  readonly env: Readonly<Record<string, string>>;
  /** `shared`: its memory is the host's RAM, so device bytes count as RAM. */
  readonly memory: 'dedicated' | 'shared';
  /** Total device memory where known. */
  readonly total: number | null;
  /** VRAM left alone. */
  readonly headroom: number;
  /** PCI address of the card behind each of its devices, where that is known. */
  readonly cards: Readonly<Record<string, string>>;
}

/** How a model runs on one placement: everything that a container is made from. */
export interface Profile {
  readonly placement: Placement;
  readonly engine: string;
  readonly image: string;
  /** Path below the models folder; the first shard of a split file. */
  readonly file: string;
  readonly projector: string | null;
  readonly task: Task;
  /** Tokens per request. */
  readonly context: number;
  /** Requests at once (slots). */
  readonly parallel: number;
  readonly threads: number;
  readonly env: Readonly<Record<string, string>>;
  /** Null on the CPU. */
  readonly gpu: Gpu | null;
  readonly standby: 'cold' | 'cached' | 'warm';
  /** Hash of all of the above: an instance made from another one is replaced when it is free. */
  readonly hash: string;
  /** Of the profile as configured, where this one was cut down. */
  readonly wholeHash?: string;
}

/** A named entry of the configuration. */
export interface Model {
  readonly name: string;
  /** The file's own name where the model was found by scanning; else the name. */
  readonly displayName: string;
  readonly aliases: readonly string[];
  readonly task: Task;
  /** In order of preference. */
  readonly placements: readonly Placement[];
  /** One for each placement that can be built on this machine. */
  readonly profiles: Readonly<Partial<Record<Placement, Profile>>>;
  /** Null: never. */
  readonly idleUnloadMs: number | null;
  readonly keepLoaded: boolean;
  readonly mode: Mode;
}

/** Everything that the core is told about the user's wishes; made from config and settings. */
export interface Policy {
  readonly home: string;
  readonly models: ReadonlyMap<string, Model>;
  readonly gpus: readonly Gpu[];
  readonly memory: {
    /** RAM kept for the NAS services; `auto`: the larger of 2 GiB and 10 % of the total. */
    readonly reserve: number | 'auto';
    /** RAM that models may take together; `auto`: total - reserve. */
    readonly budget: number | 'auto';
  };
  readonly queue: { readonly depth: number; readonly deadlineMs: number };
  readonly failover: {
    readonly resume: 'never' | 'same-file' | 'any';
    readonly returnAfterMs: number;
  };
  readonly shutdown: { readonly instances: 'stop' | 'keep'; readonly graceMs: number };
}

/** Memory that an instance takes, as estimated or measured. */
export interface Need {
  /** Host bytes: weights, repack, KV, compute, projector, prompt cache cap, base. */
  readonly ram: number;
  /** The part of `ram` that is a mapped file: MemAvailable still counts it as available once it is loaded. */
  readonly mapped: number;
  /** Device bytes, by llama.cpp device name. */
  readonly vram: Readonly<Record<string, number>>;
  readonly parts: readonly NeedPart[];
}

export interface NeedPart {
  /** `host` or a device name. */
  readonly device: string;
  readonly what: 'weights' | 'repack' | 'kv' | 'compute' | 'projector' | 'prompt_cache' | 'base';
  readonly bytes: number;
  readonly source: 'gguf' | 'llama.cpp' | 'measured' | 'fixed';
}

/** A reading of the host's memory. */
export interface HostMemory {
  readonly total: number;
  /** MemAvailable. */
  readonly available: number;
  readonly swapTotal: number;
  readonly swapFree: number;
  /** Memory of the NAS services (containers that are not ours); null where not measured. */
  readonly services: number | null;
  /** By PCI address: cards whose driver tells their own memory. */
  readonly cards: Readonly<Record<string, CardMemory>>;
}

/** A graphics card's own memory. */
export interface CardMemory {
  readonly total: number;
  /** By all programs. */
  readonly used: number;
}

/** Why something failed or moved; the words of the event contract. */
export type Reason =
  | 'out_of_memory'
  | 'device_missing'
  | 'gpu_lost'
  | 'start_failed'
  | 'load_failed'
  | 'exit'
  | 'reset'
  | 'hang'
  | 'stall'
  | 'frozen'
  | 'paused'
  | 'killed_outside'
  | 'memory_limit'
  | 'compute_error'
  | 'connection_lost'
  | 'does_not_fit'
  | 'unknown';

/** What is known of a container that ended or did not start; comes after the socket's evidence. */
export interface ExitEvidence {
  readonly running: boolean;
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  /** Stopped or killed by someone else through Docker. */
  readonly killedOutside: boolean;
  /** Docker's own error when it could not be created or started. */
  readonly error: string | null;
  /** The engine did not answer: that is no fault of the instance's. */
  readonly engineAway?: true;
  /** The last lines of its log, oldest first, without secrets. */
  readonly log: readonly string[];
}

/** What makes a problem one of its own: of each there is at most one at a time. */
export interface ProblemId {
  readonly code: ProblemCode;
  readonly model?: string;
  /** What it is about, where one code can have several at a time: a file, an image, a line. */
  readonly about?: string;
}

/** Something that the user should know and can mend. `text` and `fix` are plain English sentences. */
export interface Problem extends ProblemId {
  readonly text: string;
  readonly fix: string;
  /** Values for translated phrases. */
  readonly params?: Readonly<Record<string, string | number>>;
}
