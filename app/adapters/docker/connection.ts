/**
 * Keeps one engine's event stream: connects, follows, connects again with back-off, and tells when the engine
 * is lost and back.
 */
import type { Problem } from '../../core/types.ts';
import type { AppError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';
import { dockerError } from './docker-error.ts';
import { pause } from './pause.ts';

const FIRST_RETRY = 250;

export interface ConnectionParts {
  readonly clock: Clock;
  readonly retryMax: number;
  /** Connects and makes all ready; resolves to a promise that settles when the stream ends. `back`: it answers again. */
  readonly connect: (signal: AbortSignal, back: () => void) => Promise<{ readonly ended: Promise<void> }>;
  readonly problem: (error: AppError) => Problem;
  readonly lost: (problem: Problem) => void;
}

export interface Connection {
  /** Resolves when the first try succeeded or failed; goes on by itself. */
  open(): Promise<void>;
  close(): Promise<void>;
}

export function connection({ clock, retryMax, connect, problem, lost }: ConnectionParts): Connection {
  const closing = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function run(tried: () => void): Promise<void> {
    let wait = 0;
    let told: string | undefined;
    const back = (): void => {
      told = undefined;
    };
    while (!closing.signal.aborted) {
      try {
        const { ended } = await connect(closing.signal, back);
        wait = 0;
        tried();
        await ended;
      } catch (thrown) {
        const seen = problem(dockerError(thrown));
        // The same trouble is told once, until it answers again.
        if (told !== seen.code && !closing.signal.aborted) lost(seen);
        told = seen.code;
        tried();
        wait = Math.min(Math.max(FIRST_RETRY, wait * 2), retryMax);
        await pause(clock, wait, closing.signal);
      }
    }
  }

  return {
    open() {
      const { promise, resolve } = Promise.withResolvers<void>();
      running = run(resolve);
      return promise;
    },
    async close() {
      closing.abort();
      await running;
    },
  };
}
