/** What the state keeps of a model's standby. */
import type { Fit } from './admission.ts';

/** What is done for the CPU fallback while a better placement serves. */
export interface Standby {
  /** The file is being read. */
  readonly reading: boolean;
  /** The last read: of which profile, how much, how long (s), when (monotonic ms). */
  readonly cached: {
    readonly hash: string;
    readonly bytes: number;
    readonly seconds: number;
    readonly at: number;
  } | null;
  /** Why there is none: not enough room. */
  readonly short: Fit | null;
  /** Not looked at again before (monotonic ms). */
  readonly retryAt: number;
  /** Seconds that the last start on the CPU took, with its file in the page cache and without. */
  readonly starts: { readonly cold?: number; readonly cached?: number };
}

export const NO_STANDBY: Standby = { reading: false, cached: null, short: null, retryAt: 0, starts: {} };
