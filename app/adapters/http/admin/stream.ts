/**
 * One open event stream. It keeps a position in the event log and nothing else: what a slow reader has not
 * taken yet stays in the log, and what the log no longer keeps is told as a gap with a fresh state.
 */
import type { ServerResponse } from 'node:http';
import type { Fact } from '../../../core/facts.ts';
import type { EventLog } from '../../../ports.ts';

/** Facts in one write; bounds what waits in a socket. */
const BATCH = 64;

export interface EventStream {
  /** Writes what is due, as far as the reader takes it. */
  pump(): void;
  /** The state is to be told again. */
  stateDue(): void;
  /** A comment, so that both sides see a dead connection. */
  ping(): void;
  /** Monotonic ms since which the reader takes nothing; null: it reads. */
  blockedSince(): number | null;
  /** Ends it in order. */
  end(): void;
  /** Cuts a reader that does not read. */
  cut(): void;
}

export interface EventStreamOptions {
  readonly res: ServerResponse;
  readonly events: Pick<EventLog, 'since' | 'seq'>;
  /** The number after which it begins. */
  readonly from: number;
  readonly stateText: () => string;
  readonly now: () => number;
}

/** Sends the head and the first state; the caller pumps it when there is something new. */
export function openStream(options: EventStreamOptions): EventStream {
  const { res, events } = options;
  let position = options.from;
  let state = true;
  let blocked: number | null = null;

  function write(text: string): void {
    if (!res.write(text)) blocked = options.now();
  }

  function gap(): void {
    write(`event: gap\ndata: ${JSON.stringify({ since: position })}\n\n`);
    state = true;
  }

  /** True when something was written. */
  function step(): boolean {
    if (!state) return facts();
    state = false;
    write(`event: state\ndata: ${options.stateText()}\n\n`);
    return true;
  }

  function facts(): boolean {
    const page = events.since(position, BATCH);
    if (page.gap) gap();
    if (page.events.length > 0) write(page.events.map(frame).join(''));
    // A gap with nothing after it: whatever was missed, it ends at the newest.
    const next = page.gap && page.events.length === 0 ? events.seq : page.next;
    const moved = next !== position || page.gap;
    position = next;
    return moved;
  }

  function pump(): void {
    while (blocked === null && !res.writableEnded && !res.destroyed && step());
  }

  res.on('drain', () => {
    blocked = null;
    pump();
  });
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  write('retry: 1000\n\n');
  pump();
  return {
    pump,
    stateDue() {
      state = true;
    },
    ping() {
      if (blocked === null) write(': still here\n\n');
    },
    blockedSince: () => blocked,
    end: () => void res.end(),
    cut: () => void res.destroy(),
  };
}

function frame(fact: Fact): string {
  return `id: ${fact.seq}\ndata: ${JSON.stringify(fact)}\n\n`;
}
