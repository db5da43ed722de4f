/**
 * Tells facts to the broker one after the other, from the last one that it took.
 */
import type { Fact } from '../../core/facts.ts';
import type { EventLog } from '../../ports.ts';
import { eventPayload } from './payloads.ts';

export interface EventTeller {
  /** Tells what is not told yet; resolves when all is told or the broker is gone. Never rejects. */
  wake(): Promise<void>;
}

export interface EventTellerOptions {
  readonly events: Pick<EventLog, 'seq' | 'since'>;
  /** The number of the last fact told, at the start. */
  readonly told: number;
  /** False: not taken; the same fact is tried again at the next `wake`. */
  readonly publish: (payload: string) => Promise<boolean>;
  readonly onTold: (seq: number) => void;
  readonly onError: (error: unknown) => void;
}

/** Older facts are not told after a long absence; the next one says how many were left out (`missed`). */
const LONGEST_BACKLOG = 1_000;
const PAGE = 50;

export function eventTeller(options: EventTellerOptions): EventTeller {
  const { events, publish, onTold } = options;
  let { told } = options;
  let busy = false;
  let work = Promise.resolve();
  /** False: the broker did not take one. */
  const tellPage = async (page: readonly Fact[]): Promise<boolean> => {
    for (const fact of page) {
      const missed = fact.seq - told - 1;
      if (!(await publish(JSON.stringify(eventPayload(fact, missed))))) return false;
      told = fact.seq;
      onTold(told);
    }
    return true;
  };
  const tellAll = async () => {
    try {
      for (;;) {
        const { events: page } = events.since(Math.max(told, events.seq - LONGEST_BACKLOG), PAGE);
        // From this look at the log to the end nothing else runs, so no fact is overlooked.
        if (page.length === 0) return;
        if (!(await tellPage(page))) return;
      }
    } catch (error) {
      options.onError(error);
    } finally {
      busy = false;
    }
  };
  return {
    wake() {
      if (!busy) {
        busy = true;
        work = tellAll();
      }
      return work;
    },
  };
}
