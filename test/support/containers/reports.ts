/**
 * Collects what a port reports; a test waits for a report, never for time.
 */
import type { ContainersInput } from '../../../app/ports.ts';

type OfType<T extends ContainersInput['type']> = Extract<ContainersInput, { type: T }>;

export interface Reports {
  readonly all: readonly ContainersInput[];
  readonly add: (input: ContainersInput) => void;
  /** The first of this kind from the start, or from now on with `fresh`. */
  next<T extends ContainersInput['type']>(
    type: T,
    where?: (input: OfType<T>) => boolean,
    fresh?: 'fresh',
  ): Promise<OfType<T>>;
}

export function reports(): Reports {
  const all: ContainersInput[] = [];
  const waiting = new Set<(input: ContainersInput) => void>();
  return {
    all,
    add(input) {
      all.push(input);
      for (const wake of waiting) wake(input);
    },
    next<T extends ContainersInput['type']>(
      type: T,
      where: (input: OfType<T>) => boolean = () => true,
      fresh?: 'fresh',
    ) {
      const fits = (input: ContainersInput): input is OfType<T> =>
        input.type === type && where(input as OfType<T>);
      const early = fresh === undefined ? all.find(fits) : undefined;
      if (early !== undefined) return Promise.resolve(early);
      const { promise, resolve } = Promise.withResolvers<OfType<T>>();
      const wake = (input: ContainersInput) => {
        if (!fits(input)) return;
        waiting.delete(wake);
        resolve(input);
      };
      waiting.add(wake);
      return promise;
    },
  };
}
