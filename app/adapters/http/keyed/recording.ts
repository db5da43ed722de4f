/**
 * A keyed answer while it is made: what the forwarder writes goes into the answer's pages, and from there to
 * every client that reads it. A slow client does not hold up the forwarder. An answer that is too large to be
 * kept goes on at the pace of the fastest of its clients, and nobody else can join it.
 */
import type { Clock } from '../../../ports.ts';
import type { Alarms } from '../forward/alarms.ts';
import type { Protocol } from '../forward/protocols.ts';
import type { Wire } from '../forward/wire.ts';
import { newAudience } from './audience.ts';
import { hasContent, hasEndMark, isStream } from './events.ts';
import { type Client, newReader, type Reader } from './reader.ts';
import type { AnswerTable, GoneBecause, Head, KeyedAnswer } from './table.ts';

export interface RecordingOptions {
  readonly table: AnswerTable;
  readonly answer: KeyedAnswer;
  readonly protocol: Protocol;
  readonly alarms: Alarms;
  readonly clock: Clock;
  /** How long it goes on without a client, ms. */
  readonly graceMs: number;
  /** Last event of a stream that had no client for so long. */
  readonly abandoned: string;
  /** Last event for a client that is too slow for a stream that is not kept. */
  readonly tooSlow: string;
  /** An answer has ended, or is read by fewer. */
  readonly changed: () => void;
  /** Nobody can join it as a running one any more. */
  readonly ended: () => void;
}

export interface Recording {
  /** What the forwarder writes to. */
  readonly wire: Wire;
  /** From now on it does not go on without a client; `abandoned`: its last event then. */
  hurry(abandoned: string): void;
  /** Gives the answer to a client, from its beginning. */
  attach(res: Client, headFor: (head: Head) => string[]): void;
}

/** A client of an answer that is not kept may be so many bytes behind the others. */
const MOST_BACKLOG = 256 * 1024;

export function newRecording(options: RecordingOptions): Recording {
  const { table, answer, protocol, alarms, clock } = options;
  const heard = { drain: [] as (() => void)[], close: [] as (() => void)[] };
  const grace = { at: 0, index: -1, ring: abandon };
  const audience = newAudience();
  let { graceMs, abandoned } = options;
  let open = true;
  let last: Buffer | null = null;
  /** Where the first event begins; null: there was none. */
  let contentAt: number | null = null;
  /** How far any client has come. */
  let read = 0;

  const passing = () => answer.state.is === 'passing';
  const streams = () => answer.head !== null && isStream(answer.head);
  /** A client may have acted on a part of it: a second answer would not be the same. */
  const delivered = () => streams() && contentAt !== null && Math.max(read, audience.furthest()) > contentAt;

  function write(bytes: Buffer): void {
    if (!open || bytes.length === 0) return;
    last = bytes;
    if (contentAt === null && (!streams() || hasContent(bytes, protocol))) contentAt = answer.pages.length();
    if (passing()) {
      pass(bytes);
      return;
    }
    const result = table.write(answer, bytes);
    if (result === 'written') audience.each((reader) => reader.advance());
    else overflow(bytes, result);
  }

  /** Those that are furthest go on without the pages. */
  function overflow(bytes: Buffer, why: GoneBecause): void {
    const furthest = audience.furthest();
    keepOnly((reader) => reader.at() === furthest);
    audience.each((reader) => reader.flush());
    table.drop(answer, why);
    pass(bytes);
  }

  function pass(bytes: Buffer): void {
    if (audience.ready()) keepOnly((reader) => reader.backlog() <= MOST_BACKLOG);
    if (audience.empty()) {
      abandon();
      return;
    }
    read = Number.POSITIVE_INFINITY;
    audience.each((reader) => reader.pass(bytes));
  }

  function keepOnly(stays: (reader: Reader) => boolean): void {
    audience.keepOnly(stays, streams() ? options.tooSlow : null);
  }

  /** `keep`: it is the answer for its key. */
  function close(keep: boolean): void {
    if (!open) return;
    open = false;
    if (grace.index >= 0) alarms.remove(grace);
    if (!keep) audience.each((reader) => reader.flush());
    const kept = keep && !passing();
    table.end(answer, keep, clock.now().mono);
    audience.each((reader) => (kept ? reader.advance() : reader.end()));
    options.ended();
    options.changed();
    // As a response does: told after the call that ended it.
    queueMicrotask(() => tell(heard.close));
  }

  function end(): void {
    const status = answer.head?.status ?? 0;
    const complete = !streams() || (last !== null && hasEndMark(last, protocol));
    // A client that reads now will have had it.
    close(status < 300 && (complete || delivered() || (contentAt !== null && !audience.empty())));
  }

  /** No client came back in time, or none can. */
  function abandon(): void {
    if (!open) return;
    const keep = delivered();
    if (keep && !passing()) {
      const event = Buffer.from(abandoned);
      const result = table.write(answer, event);
      if (result !== 'written') table.drop(answer, result);
    }
    close(keep);
  }

  /** The forwarder gives it up: what there is must not look whole. */
  function destroy(): void {
    if (!open) return;
    const keep = delivered();
    if (!passing()) table.drop(answer, 'too_large');
    audience.keepOnly(() => false, null);
    close(keep);
  }

  function left(reader: Reader): void {
    answer.readers -= 1;
    read = Math.max(read, reader.at());
    audience.remove(reader);
    if (open && audience.empty()) {
      if (passing() || graceMs === 0) abandon();
      else {
        grace.at = clock.now().mono + graceMs;
        alarms.add(grace);
      }
    }
    options.changed();
  }

  const tell = (listeners: readonly (() => void)[]) => {
    for (const listener of listeners) listener();
  };

  return {
    wire: {
      chunkedEncoding: false,
      get writableNeedDrain() {
        return passing() && !audience.ready();
      },
      writeHead(status, headers) {
        answer.head = { status, headers };
        audience.each((reader) => reader.advance());
      },
      write(data: Buffer | string, encoding: 'latin1' = 'latin1') {
        write(typeof data === 'string' ? Buffer.from(data, encoding) : data);
      },
      end(text?: string, encoding: 'latin1' | 'utf8' = 'latin1') {
        if (text !== undefined) write(Buffer.from(text, encoding));
        end();
      },
      destroy,
      on: (event, listener) => void heard[event].push(listener),
    },
    hurry(lastEvent) {
      graceMs = 0;
      abandoned = lastEvent;
      if (audience.empty()) abandon();
    },
    attach(res, headFor) {
      answer.readers += 1;
      if (grace.index >= 0) alarms.remove(grace);
      const reader = newReader({
        ...{ res, answer, headFor, alarms, clock },
        onDrain: () => passing() && tell(heard.drain),
        onClose: () => left(reader),
      });
      audience.add(reader);
    },
  };
}
