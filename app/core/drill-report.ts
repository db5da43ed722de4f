/** What a drill found. Durations in seconds, sizes in bytes, times ISO 8601 with zone. */
import type { DrillScenario, DrillVerdict } from './drill.ts';
import type { Placement, Reason } from './types.ts';

/** What became of the drill's request: where several were sent, the worst. */
export type DrillOutcome =
  /** Answered from the start by another attempt. */
  | 'moved'
  /** Its stream was continued by another attempt. */
  | 'continued'
  /** Answered by the first attempt. */
  | 'undisturbed'
  /** It ended with an explicit error. */
  | 'error'
  /** Its client left, and it was ended. */
  | 'cancelled'
  /** Neither whole nor an explicit error. */
  | 'broken';

/** One thing that had to hold. */
export interface DrillCheck {
  readonly name:
    | 'answer'
    | 'failure'
    | 'id'
    | 'connection'
    | 'attempts'
    | 'tool_calls'
    | 'gpu_back'
    | 'instance'
    | 'slot'
    | 'others';
  readonly ok: boolean;
  /** A plain English sentence with the numbers. */
  readonly text: string;
}

/** One run of the scenario: first without streaming, then with. Null: it did not happen or does not apply. */
export interface DrillRound {
  readonly stream: boolean;
  readonly verdict: DrillVerdict;
  readonly why: string;
  readonly outcome: DrillOutcome;
  readonly requests: number;
  /** From the request to the failure as the controller saw it. */
  readonly firstFailure: number | null;
  readonly reason: Reason | null;
  readonly from: Placement | null;
  readonly to: Placement | null;
  /** How long the fallback took to start; 0: it ran already. */
  readonly cpuStart: number | null;
  /** From the request to its first content at the client. */
  readonly firstToken: number | null;
  /** From the request to the end of its answer at the client. */
  readonly answered: number | null;
  readonly complete: boolean;
  readonly connectionKept: boolean;
  readonly attempts: number | null;
  readonly idKept: boolean;
  readonly toolCalls: number;
  /** From the failure until the placement served again. */
  readonly gpuBack: number | null;
  readonly checks: readonly DrillCheck[];
}

export interface DrillReport {
  readonly id: string;
  readonly scenario: DrillScenario;
  readonly model: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly verdict: DrillVerdict;
  readonly why: string;
  readonly rounds: readonly DrillRound[];
  /** Containers that are not ours, compared by id and start time. */
  readonly others: {
    readonly compared: number;
    readonly untouched: boolean;
    readonly changed: readonly { readonly name: string; readonly what: string }[];
  };
  /** The least MemAvailable that was read meanwhile; null: none was. */
  readonly memoryLow: number | null;
  /** How each value was measured. */
  readonly measured: Readonly<Record<string, string>>;
}
