/** What one round brought to light, before it is judged. Times in ms. */
import type { Fact } from '../../core/facts.ts';
import type { Placement } from '../../core/types.ts';
import type { SeenByClient } from './client.ts';

export interface RoundSeen {
  readonly stream: boolean;
  /** The placement that was broken. */
  readonly target: Placement;
  /** Null: the model has no other. */
  readonly fallback: Placement | null;
  /** Why the failure could not be made; null: it was made, or there was none to make. */
  readonly notMade: string | null;
  readonly answers: readonly SeenByClient[];
  /** From the first request to the failure; null: the placement did not fail. */
  readonly failedMs: number | null;
  /** From the failure until it served again; null: not within the limit. */
  readonly backMs: number | null;
  /** The same instance serves as before. */
  readonly sameInstance: boolean;
  /** After the client left: until the request was over; null: it was not in time. */
  readonly leaseEndedMs: number | null;
  /** Null: not asked, or not told. */
  readonly busySlots: number | null;
  /** The request to another model. */
  readonly other: { readonly model: string; readonly answer: SeenByClient } | null;
  readonly facts: readonly Fact[];
}
