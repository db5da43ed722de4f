/**
 * One client that reads a keyed answer, at its own pace, from its first byte. What it has not taken yet stays
 * in the answer's pages; so a slow one costs no memory of its own.
 */
import type { Clock } from '../../../ports.ts';
import type { Alarms } from '../forward/alarms.ts';
import { READER_MS } from '../forward/watch.ts';
import type { Wire } from '../forward/wire.ts';
import type { Head, KeyedAnswer } from './table.ts';

/** A client's response. */
export interface Client extends Wire {
  readonly writableEnded: boolean;
  /** Bytes that were written and not sent yet. */
  readonly writableLength: number;
}

export interface Reader {
  /** The head, more bytes, or the end are there; does nothing where there is nothing new. */
  advance(): void;
  /** Bytes taken so far. */
  at(): number;
  /** It takes more. */
  ready(): boolean;
  /** Bytes that were handed over and not sent yet. */
  backlog(): number;
  /** Hands over all that is there, whatever its pace. */
  flush(): void;
  /** Hands over bytes that are not kept. */
  pass(bytes: Buffer): void;
  end(): void;
  /** Ends it with this last event, or, where the answer is no stream, so that it does not look whole. */
  cut(event: string | null): void;
}

export interface ReaderOptions {
  readonly res: Client;
  readonly answer: KeyedAnswer;
  /** The answer's head as this client is to have it. */
  readonly headFor: (head: Head) => string[];
  readonly alarms: Alarms;
  readonly clock: Clock;
  /** It takes more again. */
  readonly onDrain: () => void;
  /** Its connection is closed, or its answer is complete. */
  readonly onClose: () => void;
}

/** Begins with what is there. */
export function newReader(options: ReaderOptions): Reader {
  const { res, answer, alarms, clock } = options;
  const { pages } = answer;
  let at = 0;
  let headSent = false;
  const patience = {
    at: Number.POSITIVE_INFINITY,
    index: 0,
    ring() {
      if (res.writableNeedDrain) res.destroy();
    },
  };
  alarms.add(patience);

  function takeHead(): boolean {
    if (headSent || answer.head === null) return headSent;
    headSent = true;
    res.writeHead(answer.head.status, options.headFor(answer.head));
    return true;
  }

  function take(whilst: () => boolean): void {
    if (!takeHead()) return;
    while (whilst()) {
      const next = pages.from(at);
      if (next === null) break;
      at += next.length;
      res.write(next);
    }
    if (!res.writableNeedDrain) return;
    patience.at = clock.now().mono + READER_MS;
    alarms.sooner(patience);
  }

  function advance(): void {
    if (res.writableEnded) return;
    take(() => !res.writableNeedDrain);
    if (answer.state.is === 'kept' && at === pages.length()) res.end();
  }

  res.on('drain', () => {
    advance();
    options.onDrain();
  });
  res.on('close', () => {
    alarms.remove(patience);
    options.onClose();
  });
  advance();

  return {
    advance,
    at: () => at,
    ready: () => !res.writableNeedDrain,
    backlog: () => res.writableLength,
    flush: () => take(() => true),
    pass(bytes) {
      if (takeHead()) res.write(bytes);
    },
    end: () => void res.end(),
    cut(event) {
      if (event === null || !takeHead()) res.destroy();
      else res.end(event, 'utf8');
    },
  };
}
