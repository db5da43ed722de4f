/** Looks at the machine and its folders again, asked for from several sides. */
import { AppError } from '../errors.ts';
import type { ExecutorLog } from '../executors.ts';
import type { Clock } from '../ports.ts';

/** Each load that finds no GPU asks for a look. */
const ASKED_MS = 10_000;

/** Work that fails is told; it is done again at its next occasion. */
export function quietly(log: ExecutorLog, work: () => Promise<void>): () => void {
  return () => {
    work().catch((thrown: unknown) => log.error({ err: AppError.from(thrown) }, 'a reload failed'));
  };
}

/** Asked too soon after it was done for the last time, it is left out. */
export function seldom(clock: Clock, work: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.now().mono;
    if (now - last < ASKED_MS) return;
    last = now;
    work();
  };
}
