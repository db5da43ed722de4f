/**
 * Whether the page hears its server. A silent line is as bad as a broken one: the server sends at least a
 * comment every 15 s.
 */
import type { ToldError } from './told-error.ts';

export type Link =
  /** First connection: nothing was heard yet. */
  | { readonly kind: 'connecting'; readonly since: number }
  | { readonly kind: 'live'; readonly heardAt: number }
  /** Broken or silent. `since`: when that was noticed; `heardAt`: the last sign of life, null for none. */
  | { readonly kind: 'lost'; readonly since: number; readonly heardAt: number | null }
  /** Hidden tab: the connection was given up on purpose. */
  | { readonly kind: 'paused'; readonly heardAt: number | null }
  | { readonly kind: 'locked' }
  /** The server says no to this page (a host name that is not allowed); its own words. */
  | { readonly kind: 'refused'; readonly error: ToldError };

export type LinkInput =
  | { readonly type: 'heard' }
  | { readonly type: 'broke' }
  | { readonly type: 'tick' }
  | { readonly type: 'hidden' }
  | { readonly type: 'shown' }
  | { readonly type: 'unauthorized' }
  | { readonly type: 'refused'; readonly error: ToldError };

/** No sign of life for so long: the line is dead (ms). */
export const SILENCE_LIMIT = 35_000;
/** A break shorter than this is not worth a word (ms). */
export const TOLD_AFTER = 2_000;

export function reduceLink(link: Link, input: LinkInput, now: number): Link {
  switch (input.type) {
    case 'heard':
      return { kind: 'live', heardAt: now };
    case 'unauthorized':
      return { kind: 'locked' };
    case 'refused':
      return { kind: 'refused', error: input.error };
    case 'hidden':
      return link.kind === 'locked' || link.kind === 'refused'
        ? link
        : { kind: 'paused', heardAt: heardAt(link) };
    case 'shown':
      return link.kind === 'paused' ? { kind: 'lost', since: now, heardAt: link.heardAt } : link;
    case 'broke':
      return link.kind === 'lost' || link.kind === 'paused'
        ? link
        : { kind: 'lost', since: since(link, now), heardAt: heardAt(link) };
    case 'tick':
      return link.kind === 'live' && now - link.heardAt > SILENCE_LIMIT
        ? { kind: 'lost', since: now - TOLD_AFTER, heardAt: link.heardAt }
        : link;
  }
}

/** The page must say that its server is away and grey itself. */
export function isAway(link: Link, now: number): boolean {
  if (link.kind === 'lost' || link.kind === 'connecting') return now - link.since >= TOLD_AFTER;
  return false;
}

/** Milliseconds before the next try, by the number of failed ones: 0.5, 1, 2, then every 3 s. */
export function retryDelay(failures: number): number {
  return Math.min(3000, 250 * 2 ** failures);
}

function heardAt(link: Link): number | null {
  switch (link.kind) {
    case 'live':
    case 'lost':
    case 'paused':
      return link.heardAt;
    default:
      return null;
  }
}

/** A first connection that breaks was waiting since it began. */
function since(link: Link, now: number): number {
  return link.kind === 'connecting' ? link.since : now;
}
