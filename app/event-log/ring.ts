/** The newest facts, in memory. */
import type { Fact } from '../core/facts.ts';

export interface Slice {
  readonly events: readonly Fact[];
  /** What to ask for next. */
  readonly next: number;
  /** Facts after `since` are missing from `events`. */
  readonly gap: boolean;
}

export interface Ring {
  push(fact: Fact): void;
  /** `known`: the highest number that anyone was given; a `since` over it is of another life: a gap. */
  since(seq: number, limit: number, known: number): Slice;
  /** Whether every fact after `seq` is here. */
  reaches(seq: number): boolean;
}

/** `lost`: the number up to which facts are not in `initial`; 0: it holds all that ever were. */
export function makeRing(size: number, initial: readonly Fact[], lost: number): Ring {
  const facts = initial.slice(-size);
  let missing = initial.length > size ? (initial.at(-size - 1)?.seq ?? lost) : lost;
  return {
    push: (fact) => {
      facts.push(fact);
      // Shifting one at a time is slow for large arrays: cut when a quarter is over.
      if (facts.length < size + Math.ceil(size / 4)) return;
      missing = facts[facts.length - size - 1]?.seq ?? missing;
      facts.splice(0, facts.length - size);
    },
    reaches: (seq) => seq >= missing,
    since: (seq, limit, known) => slice(facts, { seq, limit, known, missing }),
  };
}

/** The part of `facts` after a number, oldest first. */
export function slice(
  facts: readonly Fact[],
  ask: { readonly seq: number; readonly limit: number; readonly known: number; readonly missing: number },
): Slice {
  const gap = ask.seq < ask.missing || ask.seq > ask.known;
  const from = ask.seq > ask.known ? 0 : ask.seq;
  const first = firstAfter(facts, from);
  const events = facts.slice(first, first + ask.limit);
  return { events, next: events.at(-1)?.seq ?? Math.min(ask.seq, ask.known), gap };
}

/** Index of the first fact with a number over `seq`, by halving. */
function firstAfter(facts: readonly Fact[], seq: number): number {
  let low = 0;
  let high = facts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((facts[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
