/**
 * Ports inside the holder's network. A freed port rests before it is given again: a late packet or a
 * client's pooled connection must not reach another model.
 */
import { AppError } from '../../errors.ts';

export const FIRST_PORT = 20_000;
export const PORTS = 10_000;

export interface PortAllocator {
  /** The next free port. Throws AppError `no_port` when all are taken or resting. */
  take(now: number): number;
  /** Marks the port of an adopted instance. */
  reserve(port: number): void;
  free(port: number, now: number): void;
}

/** `start`: where the first search begins, so that a restarted controller does not begin where the last did. */
export function portAllocator(restMs: number, start: number): PortAllocator {
  const taken = new Set<number>();
  const restingUntil = new Map<number, number>();
  let next = start % PORTS;
  return {
    take(now) {
      for (const [port, until] of restingUntil) if (until <= now) restingUntil.delete(port);
      for (let tried = 0; tried < PORTS; tried++) {
        const port = FIRST_PORT + next;
        next = (next + 1) % PORTS;
        if (taken.has(port) || restingUntil.has(port)) continue;
        taken.add(port);
        return port;
      }
      throw new AppError('no_port', 'every port of the instances is taken');
    },
    reserve(port) {
      taken.add(port);
      restingUntil.delete(port);
    },
    free(port, now) {
      if (taken.delete(port)) restingUntil.set(port, now + restMs);
    },
  };
}
