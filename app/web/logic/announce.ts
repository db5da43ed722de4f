/**
 * What a screen reader is told without being asked: the start of a failover and its end, once each.
 */
import type { Fact } from '../../core/facts.ts';

export interface Announcer {
  /** Models whose outage was announced and is not over. */
  readonly out: ReadonlySet<string>;
}

export const QUIET: Announcer = { out: new Set() };

/** `told`: the facts to say aloud. Only live facts belong here, never history. */
export function announce(
  announcer: Announcer,
  facts: readonly Fact[],
): { readonly announcer: Announcer; readonly told: readonly Fact[] } {
  const out = new Set(announcer.out);
  const told: Fact[] = [];
  for (const fact of facts) {
    const model = fact.model ?? '';
    if ((fact.type === 'failover' || fact.type === 'failover_failed') && !out.has(model)) {
      out.add(model);
      told.push(fact);
    } else if (fact.type === 'recovered') {
      out.delete(model);
      told.push(fact);
    }
  }
  return { announcer: { out }, told };
}
