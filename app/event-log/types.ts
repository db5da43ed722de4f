/** What an event log needs and offers beside the `EventLog` port. */
import type { ProblemCode } from '../core/codes.ts';
import type { Fact, FactBody } from '../core/facts.ts';
import type { Problem } from '../core/types.ts';
import type { Clock, EventLog } from '../ports.ts';

export interface EventLogOptions {
  /** Folder of the segment files; made where it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  /** Something that was found and mended, for the log: a torn record, a removed segment. */
  readonly notice: (text: string) => void;
  /** Facts cannot be kept at the moment; they are told all the same. */
  readonly problem: (problem: Problem) => void;
  /** The problem of that code is over. */
  readonly problemGone: (code: ProblemCode) => void;
  /** No number at or below it is given again; the position that a sink has reached. Default 0. */
  readonly floor?: number;
  /** Bounds of what is kept. */
  readonly limits?: Partial<EventLogLimits>;
}

export interface EventLogLimits {
  /** All segments together. */
  readonly bytes: number;
  readonly days: number;
  readonly segmentBytes: number;
  /** Facts held in memory for `since`. */
  readonly ring: number;
  /** Facts of one type in a second; what is over is merged. */
  readonly perSecond: number;
}

export interface WritableEventLog extends EventLog {
  /**
   * Takes the facts of one turn; returns at once. They are numbered, made durable by one write and one sync,
   * then told. Returns the number that the last of them will have (where the disk fails, at least that).
   */
  append(facts: readonly FactBody[], wall: number): number;
  /** Like `since`, but also from the disk: for a sink that was away for long. */
  read(
    since: number,
    limit: number,
  ): Promise<{ readonly events: readonly Fact[]; readonly next: number; readonly gap: boolean }>;
  /** Writes and tells what is waiting, then closes. */
  close(): Promise<void>;
}
