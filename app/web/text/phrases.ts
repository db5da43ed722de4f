/** What every language must be able to say of facts. */
import type { Fact, FactType } from '../../core/facts.ts';
import type { Reason } from '../../core/types.ts';
import type { Format } from './format.ts';

/** Says a fact in one or two plain sentences. */
export type FactPhrases = Readonly<Record<FactType, (fact: Fact, format: Format) => string>>;

/** Says a cause, in the form that follows a colon. */
export type ReasonPhrases = Readonly<Record<Reason, string>>;

/** How many requests a failover is about (`count` goes beyond the 16 ids); 0 where it names none. */
export function requestCount(fact: Fact): number {
  return Math.max(fact.requestIds?.length ?? 0, fact.count ?? 0, fact.requestId === undefined ? 0 : 1);
}
