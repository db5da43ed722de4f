/**
 * The one connection of a tab to the controller's event stream. It is read by `fetch`, not by EventSource:
 * only so are comments seen, which tell a quiet line from a dead one, and the status of a refusal.
 */
import { batch } from '@preact/signals';
import type { Fact } from '../../core/facts.ts';
import type { View } from '../../core/view.ts';
import { announce } from '../logic/announce.ts';
import { type FeedMessage, lastSeq, reduceFeed } from '../logic/feed.ts';
import { type LinkInput, reduceLink, retryDelay } from '../logic/link.ts';
import { parseSse, type SseItem } from '../logic/sse.ts';
import { errorOfResponse } from '../logic/told-error.ts';
import { announcement, announcer, clock, feed, firstView, format, link, text } from './app.ts';
import { settleCommands } from './commands.ts';

let open: AbortController | null = null;
let failures = 0;
let retry: ReturnType<typeof setTimeout> | undefined;
let askingHistory = false;

/** Follows the server for as long as the page lives. */
export function startLive(): void {
  setInterval(tick, 1000);
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : resume()));
  addEventListener('pagehide', pause);
  addEventListener('pageshow', (event) => {
    if (event.persisted) resume();
  });
  if (document.hidden) pause();
  else void connect();
}

/** Tries at once, as after a login. */
export function reconnect(): void {
  failures = 0;
  link.value = { kind: 'connecting', since: Date.now() };
  void connect();
}

function tellLink(input: LinkInput): void {
  link.value = reduceLink(link.value, input, Date.now());
}

function tick(): void {
  if (document.hidden) return;
  const wasLive = isLive();
  batch(() => {
    clock.value = Date.now();
    tellLink({ type: 'tick' });
  });
  if (wasLive && !isLive()) void connect();
}

function isLive(): boolean {
  return link.value.kind === 'live';
}

function pause(): void {
  clearTimeout(retry);
  open?.abort();
  open = null;
  tellLink({ type: 'hidden' });
}

function resume(): void {
  if (link.value.kind !== 'paused') return;
  clock.value = Date.now();
  tellLink({ type: 'shown' });
  failures = 0;
  void connect();
}

async function connect(): Promise<void> {
  clearTimeout(retry);
  open?.abort();
  const mine = new AbortController();
  open = mine;
  try {
    const since = lastSeq(feed.value) ?? feed.value.view?.seq ?? null;
    const address = since === null ? 'admin/events/stream' : `admin/events/stream?since=${since}`;
    const response = await fetch(address, {
      signal: mine.signal,
      cache: 'no-store',
      headers: { accept: 'text/event-stream' },
    });
    if (response.status === 401) return tellLink({ type: 'unauthorized' });
    if (response.status === 403) {
      return tellLink({ type: 'refused', error: await errorOfResponse(response) });
    }
    if (response.ok && response.body !== null) await follow(response.body, mine);
  } catch {
    // Broken or refused: the same as an end. The link says so and tries again.
  }
  if (open !== mine) return;
  tellLink({ type: 'broke' });
  retry = setTimeout(() => void connect(), retryDelay(failures++));
}

async function follow(body: ReadableStream<Uint8Array>, mine: AbortController): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done || open !== mine) return;
    failures = 0;
    const chunk = parseSse(rest + decoder.decode(value, { stream: true }));
    rest = chunk.rest;
    batch(() => {
      tellLink({ type: 'heard' });
      take(chunk.items);
    });
    if (feed.value.missingAfter !== null) void askHistory();
  }
}

/** In the order of the stream; facts in a row are taken together. */
function take(items: readonly SseItem[]): void {
  const fresh: Fact[] = [];
  for (const item of items) {
    if (item.kind !== 'event') continue;
    if (item.event === 'message' && item.id !== null) {
      fresh.push(JSON.parse(item.data) as Fact);
      continue;
    }
    takeFacts(fresh.splice(0));
    // The page and its server are one version: the shapes are those of the types.
    if (item.event === 'state') takeState(JSON.parse(item.data) as View);
    else if (item.event === 'gap') tellFeed({ type: 'gap', ...(JSON.parse(item.data) as { since: number }) });
  }
  takeFacts(fresh);
}

function takeFacts(fresh: readonly Fact[]): void {
  if (fresh.length === 0) return;
  tellFeed({ type: 'facts', facts: fresh });
  sayAloud(fresh);
}

function takeState(state: View): void {
  firstView.value ??= state;
  tellFeed({ type: 'state', view: state, at: Date.now() });
  clock.value = Date.now();
  settleCommands();
}

function tellFeed(message: FeedMessage): void {
  feed.value = reduceFeed(feed.value, message);
}

function sayAloud(fresh: readonly Fact[]): void {
  const said = announce(announcer.value, fresh);
  announcer.value = said.announcer;
  const last = said.told.at(-1);
  if (last !== undefined) announcement.value = text.value.facts[last.type](last, format.value);
}

interface History {
  readonly events: readonly Fact[];
  readonly next: number;
}

/** Fetches what is missing, page by page, up to what is known. */
async function askHistory(): Promise<void> {
  if (askingHistory) return;
  askingHistory = true;
  try {
    let since = feed.value.missingAfter ?? 0;
    const found: Fact[] = [];
    for (;;) {
      const response = await fetch(`admin/events?since=${since}`, { cache: 'no-store' });
      if (!response.ok) return;
      const page = (await response.json()) as History;
      found.push(...page.events);
      if (page.events.length === 0 || page.next <= since) break;
      since = page.next;
    }
    tellFeed({ type: 'history', facts: found });
  } catch {
    // Asked again with the next message of the stream.
  } finally {
    askingHistory = false;
  }
}
