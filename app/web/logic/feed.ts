/**
 * What the page knows: the newest snapshot and the facts, folded from what the server sends. Pure: the same
 * messages give the same feed, in whatever order history and live facts meet.
 */
import type { Fact } from '../../core/facts.ts';
import type { View } from '../../core/view.ts';

export interface Feed {
  readonly view: View | null;
  /** Unix ms of this browser when `view` came. */
  readonly viewAt: number;
  /** Each number once, oldest first. */
  readonly facts: readonly Fact[];
  /** A number was skipped: history has to be asked for after this one. */
  readonly missingAfter: number | null;
  /** The server broke its row of numbers after this one; the next state tells why. */
  readonly gapAfter: number | null;
}

export type FeedMessage =
  | { readonly type: 'state'; readonly view: View; readonly at: number }
  /** `event: gap`: what follows does not follow on `since`. */
  | { readonly type: 'gap'; readonly since: number }
  /** Told live. */
  | { readonly type: 'facts'; readonly facts: readonly Fact[] }
  /** Asked for: what is missing in it is not kept any more. */
  | { readonly type: 'history'; readonly facts: readonly Fact[] };

/** Facts held in the page. */
export const FACTS_HELD = 2000;

export const EMPTY_FEED: Feed = { view: null, viewAt: 0, facts: [], missingAfter: null, gapAfter: null };

export function lastSeq(feed: Feed): number | null {
  return feed.facts.at(-1)?.seq ?? null;
}

export function reduceFeed(feed: Feed, message: FeedMessage): Feed {
  switch (message.type) {
    case 'state':
      return takeState(feed, message.view, message.at);
    case 'gap':
      return { ...feed, gapAfter: message.since };
    case 'facts':
      return takeFacts(feed, message.facts);
    case 'history':
      return { ...feed, facts: merge(feed.facts, message.facts), missingAfter: null };
  }
}

/**
 * The first state asks for the history before it. After a gap, a state with a lower number means that the
 * server's memory of events is another one: ours is void. Without a gap it means nothing: a state may be a
 * little older than the facts before it.
 */
function takeState(feed: Feed, view: View, at: number): Feed {
  const reset = feed.gapAfter !== null && view.seq < feed.gapAfter;
  const anew = reset || feed.view === null;
  return {
    view,
    viewAt: at,
    facts: reset ? [] : feed.facts,
    missingAfter: anew && view.seq > 0 ? Math.max(0, view.seq - FACTS_HELD) : feed.missingAfter,
    gapAfter: null,
  };
}

function takeFacts(feed: Feed, facts: readonly Fact[]): Feed {
  let missingAfter = feed.missingAfter;
  let last = lastSeq(feed);
  for (const fact of facts) {
    if (last !== null && fact.seq > last + 1) missingAfter ??= last;
    last = Math.max(last ?? fact.seq, fact.seq);
  }
  return { ...feed, facts: merge(feed.facts, facts), missingAfter };
}

function merge(held: readonly Fact[], more: readonly Fact[]): readonly Fact[] {
  if (more.length === 0) return held;
  const last = held.at(-1)?.seq ?? -1;
  const inOrder = more.every((fact, i) => fact.seq > (i === 0 ? last : (more[i - 1]?.seq ?? last)));
  if (inOrder) return [...held, ...more].slice(-FACTS_HELD);
  const bySeq = new Map(held.map((fact) => [fact.seq, fact]));
  for (const fact of more) bySeq.set(fact.seq, fact);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq).slice(-FACTS_HELD);
}
