/** What is kept over a restart in the state folder (types only). */
import type { Reduction } from '../core/reduction.ts';
import type { Speed } from '../core/speed.ts';

/** Small things that must survive a restart. */
export interface StoredState {
  /** Uuid in the owner label of our containers. */
  readonly owner: string;
  /** Of the embedded broker, where the configuration gives none. */
  readonly brokerPassword: string;
  readonly counters: { readonly requests: number; readonly failed: number; readonly failovers: number };
  /** By profile hash. */
  readonly speeds: Readonly<Record<string, Speed>>;
  /** Tokens of an answer, by model. */
  readonly answerTokens: Readonly<Record<string, number>>;
  /** By the hash of the profile as configured. */
  readonly reductions: Readonly<Record<string, Reduction>>;
  /** Hashes of profiles that were killed by their memory limit: it is higher since then. */
  readonly raisedLimits: readonly string[];
}

export interface Store {
  state(): StoredState;
  /** Kept in memory at once, on disk a few seconds later with all other changes of that time. */
  update(change: Partial<Omit<StoredState, 'owner' | 'brokerPassword'>>): void;
  /** Resolves when all is on disk, or when that failed and was reported. */
  flush(): Promise<void>;
}
