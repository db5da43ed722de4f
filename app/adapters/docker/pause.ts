/**
 * Waits by the given clock.
 */
import type { Clock } from '../../ports.ts';

/** Resolves after so many milliseconds, or at once when the signal is aborted. */
export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.at(clock.now().mono + milliseconds, resolve);
  const stop = () => {
    cancel();
    resolve();
  };
  signal?.addEventListener('abort', stop, { once: true });
  return promise.finally(() => signal?.removeEventListener('abort', stop));
}

export interface Alarm {
  /** Sets it anew; an earlier setting is dropped. */
  arm(milliseconds: number): void;
  cancel(): void;
}

export function alarm(clock: Clock, callback: () => void): Alarm {
  let cancelSet: () => void = () => undefined;
  return {
    arm(milliseconds) {
      cancelSet();
      cancelSet = clock.at(clock.now().mono + milliseconds, callback);
    },
    cancel() {
      cancelSet();
      cancelSet = () => undefined;
    },
  };
}
