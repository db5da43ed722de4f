/** What drills need of the outside, and what they give to it (types only). */
import type { DrillReport } from '../core/drill-report.ts';

/** A deliberate failure: SIGKILL, freeze, or the memory limit lowered to what it uses now. */
export type Harm = 'kill' | 'pause' | 'starve';

/** A container that is not ours, nor the controller's own. */
export interface OtherContainer {
  readonly engine: string;
  readonly container: string;
  readonly name: string;
  readonly running: boolean;
  /** Docker's own words; a restart changes it. */
  readonly startedAt: string;
  readonly exitCode: number;
  readonly oomKilled: boolean;
  /** GPU devices that it was given. */
  readonly gpus: readonly ('nvidia' | 'dri')[];
  /** An instance of another home: its own controller starts and ends it. */
  readonly ofAnotherHome: boolean;
}

/** `model`: name or alias; null: the only one. */
export interface DrillAsked {
  readonly scenario: string;
  readonly model: string | null;
}

/** Deliberate failures with a report. */
export interface Drills {
  /**
   * Runs one to its end, which takes minutes; `began` is called when nothing can refuse it any more. Rejects
   * with AppError `invalid_request`, `unknown_model`, `mode_off`, `drill_running`, `drill_refused`.
   */
  run(asked: DrillAsked, began?: () => void): Promise<DrillReport>;
  /** One after another; why it could not be run on which of them, in sentences. Never rejects. */
  runEach(scenario: string, models: readonly string[]): Promise<readonly string[]>;
  /** Keeps and tells the report of one that was run from outside, once. Throws AppError `unknown_model`. */
  keep(report: DrillReport): void;
  /** Newest first. */
  reports(): readonly DrillReport[];
}
