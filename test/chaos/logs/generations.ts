/** What a llama-server's own log tells of the generations that it ran, at the level that instances log at. */
import { asMark } from '../clients/mark.ts';

/** One text that a slot began to make. */
export interface Generation {
  readonly container: string;
  /** The server's own number of it. */
  readonly task: number;
  /** Of the request that asked for it; null: that had none. */
  readonly mark: number | null;
  /** Milliseconds, as in the transcripts. */
  readonly begunAt: number;
  /** When its slot was free again, and why; null: the log does not tell. */
  readonly end: GenerationEnd | null;
}

export interface GenerationEnd {
  /** `whole`: by itself; `cancelled`: its client had gone; `failed`: by an error. */
  readonly kind: 'whole' | 'cancelled' | 'failed';
  readonly at: number;
}

const BEGUN = /launch_slot_: id +\d+ \| task (\d+) \| processing task/;
const SETTINGS = /\btop_k = (\d+)/;
const TIMED = /print_timing: id +\d+ \| task (\d+) \| +total time/;
const CANCELLED = /stop: cancel task, id_task = (\d+)/;
const RELEASED = /release: id +\d+ \| task (\d+) \| stop processing/;
const TOLD = [BEGUN, SETTINGS, TIMED, CANCELLED, RELEASED];

/** Whether a line of a log tells of a generation: the others need not be kept. */
export function tells(line: string): boolean {
  return TOLD.some((pattern) => pattern.test(line));
}

/**
 * @param lines each begins with the time at which it was written (RFC 3339), and a blank
 * @param origin of the transcripts' clock, in milliseconds of the epoch
 */
export function generationsOf(container: string, lines: readonly string[], origin: number): Generation[] {
  const found = new Map<number, Generation>();
  const closing = new Map<number | null, GenerationEnd['kind']>();
  // The settings of a generation are logged before it.
  let mark: number | null = null;
  for (const line of lines) {
    const at = Date.parse(line.slice(0, line.indexOf(' '))) - origin;
    const settings = numberIn(line, SETTINGS);
    if (settings !== null) mark = asMark(settings);
    closing.set(numberIn(line, TIMED), 'whole').set(numberIn(line, CANCELLED), 'cancelled');
    const task = numberIn(line, BEGUN);
    if (task !== null) {
      found.set(task, { container, task, mark, begunAt: at, end: null });
      mark = null;
    }
    const released = found.get(numberIn(line, RELEASED) ?? -1);
    if (released === undefined) continue;
    const kind = closing.get(released.task) ?? 'failed';
    found.set(released.task, { ...released, end: { kind, at } });
  }
  return [...found.values()];
}

function numberIn(line: string, pattern: RegExp): number | null {
  const found = pattern.exec(line)?.[1];
  return found === undefined ? null : Number(found);
}
