/** What a drill stands on, so that tests can stand in for it. */
import type { DrillScenario, DrillVerdict } from '../../core/drill.ts';
import type { Fact } from '../../core/facts.ts';
import type { Input } from '../../core/inputs.ts';
import type { Command, CommandResult } from '../../core/request.ts';
import type { State } from '../../core/state.ts';
import type { HostMemory } from '../../core/types.ts';
import type { Clock, Containers } from '../../ports.ts';
import type { Send } from './client.ts';
import type { ArmedFault } from './faulty-starts.ts';
import type { Scenario } from './scenarios.ts';

/** Longest waits, ms. */
export interface DrillLimits {
  /** For a moment in which nobody uses the model. */
  readonly free: number;
  /** For an answer, a load among it. */
  readonly answer: number;
  /** For the failed placement to serve again, beyond the wait of its circuit breaker. */
  readonly recovery: number;
  /** For what should come at once: a lease's end, an event. */
  readonly soon: number;
}

export const LIMITS: DrillLimits = { free: 60_000, answer: 300_000, recovery: 300_000, soon: 10_000 };

export interface DrillParts {
  /** For reading only. */
  readonly state: State;
  readonly onTurn: (listener: () => void) => () => void;
  readonly submit: (
    input: Extract<Input, { type: 'drill_sealed' | 'drill_eased' | 'drill_reported' }>,
  ) => void;
  readonly command: (command: Command) => Promise<CommandResult>;
  readonly subscribe: (listener: (fact: Fact) => void) => () => void;
  readonly containers: Pick<Containers, 'harm' | 'others'>;
  /** Slots of the instance that are at work, as the backend itself says; null: it does not say. */
  readonly busySlots: (instance: string) => Promise<number | null>;
  /** Told and marked before, closed afterwards. */
  readonly begin: (run: Run) => void;
  readonly end: (ending: Ending) => void;
  readonly arm: (fault: ArmedFault | null) => void;
  readonly sample: () => Promise<HostMemory>;
  readonly send: Send;
  /** A secret that marks the drill's requests, and an id. */
  readonly random: () => string;
  readonly iso: (wall: number) => string;
  readonly clock: Clock;
  readonly limits: DrillLimits;
}

/** A drill that runs. */
export interface Run {
  readonly id: string;
  readonly name: DrillScenario;
  readonly scenario: Scenario;
  readonly model: string;
  readonly mark: string;
}

export interface Ending {
  readonly verdict: DrillVerdict;
  readonly why: string;
}
