/** Facts are whole, in order, and agree with what the clients saw. */
import type { Fact } from '../../../app/core/facts.ts';
import type { Transcript } from '../transcript.ts';
import type { Outcome } from './ended.ts';
import type { Finding } from './finding.ts';

const RULE = 'facts are told in order, none lost';

/**
 * @param told as they came to a subscriber, doubles included
 * @param deaths how often the controller was killed: each may repeat some facts
 */
export function checkFacts(told: readonly Fact[], newest: number, deaths: number): Finding[] {
  const found: Finding[] = [];
  const wrong = (what: string) => found.push({ rule: RULE, request: '', what });
  let highest = 0;
  let steps = 0;
  const texts = new Map<number, string>();
  for (const fact of told) {
    const known = texts.get(fact.seq);
    if (known === undefined) {
      if (fact.seq !== highest + 1) wrong(`number ${fact.seq} follows ${highest}`);
      texts.set(fact.seq, JSON.stringify(fact));
    } else if (known !== JSON.stringify(fact)) wrong(`number ${fact.seq} was told with two texts`);
    if (fact.seq <= highest) steps += 1;
    highest = Math.max(highest, fact.seq);
  }
  if (steps > 0 && deaths === 0) wrong(`${steps} facts were told twice without a crash`);
  if (highest < newest) wrong(`the newest fact is ${newest}, the last one told ${highest}`);
  return found;
}

/** A request that was answered whole has no failure on record, and none has two. */
export function checkFailures(
  facts: readonly Fact[],
  ends: ReadonlyMap<string, { readonly transcript: Transcript; readonly outcome: Outcome }>,
): Finding[] {
  const found: Finding[] = [];
  const failed = new Map<string, number>();
  const unique = new Map(facts.map((fact) => [fact.seq, fact]));
  for (const fact of unique.values()) {
    if (fact.type !== 'request_failed') continue;
    const ids = fact.requestIds ?? (fact.requestId === undefined ? [] : [fact.requestId]);
    for (const id of ids) failed.set(id, (failed.get(id) ?? 0) + 1);
  }
  for (const [id, count] of failed) {
    const wrong = (what: string) =>
      found.push({ rule: 'a failure is told once, and is one', request: id, what });
    const outcome = ends.get(id)?.outcome;
    if (count > 1) wrong(`told ${count} times`);
    if (outcome === 'answered') wrong('the client got a whole answer');
  }
  return found;
}
