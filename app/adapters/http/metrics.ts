/**
 * Prometheus metrics, fed from facts, the view and the measurements of the HTTP edge.
 */
import type { Placement } from '../../core/types.ts';
import type { AttemptMeasurement, EventLog, Gate } from '../../ports.ts';

/** How a model request ended, told once a request. */
export interface RequestMeasurement {
  readonly model: string;
  readonly placement: Placement | 'none';
  readonly outcome: 'completed' | 'failed' | 'client_gone';
  readonly attempts: number;
  readonly queuedMs: number;
}

export interface Metrics {
  /** Counts one attempt with its speeds. */
  readonly attempt: (measurement: AttemptMeasurement) => void;
  /** Counts one ended request. */
  readonly request: (measurement: RequestMeasurement) => void;
  readonly contentType: string;
  /** The exposition text. */
  text(): Promise<string>;
  /** Ends its subscription. */
  close(): void;
}

/** Makes a registry of its own: several in one process do not meet. */
export function createMetrics(_sources: { readonly gate: Gate; readonly events: EventLog }): Metrics {
  throw new Error('not built yet');
}
