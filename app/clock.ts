/** The real clock. */
import { performance } from 'node:perf_hooks';
import type { Clock } from './ports.ts';

/** setTimeout counts in 31 bits; a longer wait is taken in steps. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => ({ mono: performance.now(), wall: Date.now() }),
  at(mono, callback) {
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const left = mono - performance.now();
      // A timer may ring a fraction of a millisecond early: round up, so that what is due is due.
      timer = setTimeout(
        left <= MAX_TIMEOUT_MS ? callback : wait,
        Math.min(MAX_TIMEOUT_MS, Math.max(0, Math.ceil(left))),
      );
    };
    wait();
    return () => clearTimeout(timer);
  },
};
