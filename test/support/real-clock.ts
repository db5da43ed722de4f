/**
 * The machine's own time, for tests on real parts.
 */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../../app/ports.ts';

export function realClock(): Clock {
  return {
    now: () => ({ mono: performance.now(), wall: Date.now() }),
    at(mono, callback) {
      const timer = setTimeout(callback, Math.max(0, mono - performance.now()));
      return () => clearTimeout(timer);
    },
  };
}
