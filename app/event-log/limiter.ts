/** The rate limit with its clock: held facts come out at the end of their second. */
import type { FactBody } from '../core/facts.ts';
import type { Clock } from '../ports.ts';
import { rateLimit } from './merge.ts';

export interface Limiter {
  /** What is to be told now. */
  take(facts: readonly FactBody[]): readonly FactBody[];
  /** Everything that is held; ends the timer. */
  flush(): readonly FactBody[];
}

/** `emit` is called with held facts when their second is over. */
export function makeLimiter(
  clock: Clock,
  perSecond: number,
  emit: (facts: readonly FactBody[]) => void,
): Limiter {
  const limit = rateLimit(perSecond);
  let cancel: (() => void) | null = null;

  const arm = (): void => {
    const due = limit.nextDue();
    if (cancel !== null || due === null) return;
    cancel = clock.at(due, () => {
      cancel = null;
      emit(limit.due(clock.now().mono));
      arm();
    });
  };
  return {
    take: (facts) => {
      const { mono } = clock.now();
      const now = facts.flatMap((fact) => limit.take(fact, mono));
      arm();
      return now;
    },
    flush: () => {
      cancel?.();
      cancel = null;
      return limit.due(clock.now().mono, true);
    },
  };
}
