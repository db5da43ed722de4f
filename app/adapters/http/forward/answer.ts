/**
 * The client's side of a request: one answer, whatever attempts it took. It knows the path's form, whether
 * the head is sent, and the client's pace; nothing of instances.
 */
import { errorHeaders, type OwnError } from '../errors.ts';
import { type AnswerFacts, answerHeaders } from './headers.ts';
import type { Protocol } from './protocols.ts';
import type { Connection, Wire } from './wire.ts';

/** What an answer of a backend is passed on with. */
export interface BackendHead {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
}

/** A backend's error answer that is kept until the core says what becomes of it. */
export type KeptError =
  | { readonly kind: 'answer'; readonly head: BackendHead; readonly body: Buffer }
  /** Events of a stream up to its error event, and that event. */
  | { readonly kind: 'event'; readonly before: Buffer; readonly event: Buffer };

export interface Answer {
  headSent(): boolean;
  /** The client reads more slowly than we write. */
  full(): boolean;
  /** Sends the head of a stream, once. */
  openStream(contentType?: string): void;
  /** Sends the head of an answer that is not a stream but too large to hold; false: a stream is open. */
  openWhole(head: BackendHead, contentLength: string | null): boolean;
  write(bytes: Buffer): void;
  /** A comment in the stream; opens it. */
  comment(text: string): void;
  end(): void;
  /** A whole answer; only where no head is sent. */
  whole(head: BackendHead, parts: readonly Buffer[]): void;
  /** Ends with an error of ours: as a body, as an event, or, in an open whole answer, by a cut. */
  fail(error: OwnError): void;
  pass(kept: KeptError): void;
}

/** A body up to this size goes out in one write with its head: node joins them only as strings. */
const ONE_WRITE_BYTES = 32 * 1024;

const LAST_CHUNK = '0\r\n\r\n';

/** Bytes as a chunk of HTTP/1.1, one latin1 character a byte. */
function chunkOf(bytes: Buffer): string {
  return `${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`;
}

/** What an answer needs of its request. */
export interface AnswerOf {
  /** Asked when a head is written. */
  facts(): AnswerFacts;
  /** Told when `full` ended. */
  drained(): void;
}

export function answerTo(res: Wire, protocol: Protocol, { facts, drained }: AnswerOf): Answer {
  let open: 'no' | 'stream' | 'whole' = 'no';
  let framed = false;
  let connection: Connection | null = null;

  /** Node sends each chunk as four pieces; framed here it is one. */
  function frameOurselves(): void {
    framed = res.chunkedEncoding;
    if (framed) res.chunkedEncoding = false;
  }

  function write(bytes: Buffer): void {
    // A chunk without bytes would be the last one.
    if (bytes.length === 0) return;
    if (connection !== null) connection.write(chunkOf(bytes), 'latin1');
    else if (!framed) res.write(bytes);
    else {
      res.write(chunkOf(bytes), 'latin1');
      connect();
    }
  }

  /** The head is out: what `ServerResponse` does for each further write costs a sixth of it, for nothing. */
  function connect(): void {
    const below = res.socket ?? null;
    if (below === null) return;
    connection = below;
    below.on('drain', drained);
    // The next answer on it has a reader of its own.
    res.on('close', () => below.off('drain', drained));
  }

  function end(): void {
    connection = null;
    if (framed) res.end(LAST_CHUNK, 'latin1');
    else res.end();
  }

  function openStream(contentType = 'text/event-stream'): void {
    if (open !== 'no') return;
    open = 'stream';
    res.on('drain', drained);
    const head = ['Content-Type', contentType, 'Cache-Control', 'no-cache', 'X-Accel-Buffering', 'no'];
    res.writeHead(200, answerHeaders(facts(), head));
    frameOurselves();
  }

  function endStream(text: string): void {
    openStream();
    write(Buffer.from(text));
    end();
  }

  function whole(head: BackendHead, parts: readonly Buffer[]): void {
    let length = 0;
    for (const part of parts) length += part.length;
    res.writeHead(head.status, headers(head, String(length)));
    const [only] = parts;
    if (parts.length === 1 && only !== undefined && length <= ONE_WRITE_BYTES) {
      res.end(only.toString('latin1'), 'latin1');
      return;
    }
    for (const part of parts) res.write(part);
    res.end();
  }

  function headers(head: BackendHead, contentLength: string | null): string[] {
    const list = ['Content-Type', head.contentType];
    if (contentLength !== null) list.push('Content-Length', contentLength);
    if (head.retryAfter !== null) list.push('Retry-After', head.retryAfter);
    return answerHeaders(facts(), list);
  }

  function fail(error: OwnError): void {
    if (open === 'whole') res.destroy();
    else if (open === 'stream') endStream(protocol.errorEvent(error));
    else sendOwn(res, protocol.errorBody(error), error, answerHeaders(facts(), []));
  }

  return {
    headSent: () => open !== 'no',
    full: () => (connection ?? res).writableNeedDrain,
    openStream,
    openWhole(head, contentLength) {
      if (open === 'stream') return false;
      open = 'whole';
      res.on('drain', drained);
      res.writeHead(head.status, headers(head, contentLength));
      return true;
    },
    write,
    comment(text) {
      openStream();
      write(Buffer.from(`: ${text}\n\n`));
    },
    end,
    whole,
    fail,
    pass(kept) {
      if (kept.kind === 'event') {
        openStream();
        write(kept.before);
        write(kept.event);
        end();
      } else if (open === 'no') whole(kept.head, [kept.body]);
      else if (open === 'stream') endStream(protocol.wrapError(oneLine(kept.body)));
      else res.destroy();
    },
  };
}

/** Sends one of our errors as a whole answer. `extra`: flat headers, which may hold the request's id. */
export function sendOwn(res: Wire, body: string, error: OwnError, extra: readonly string[] = []): void {
  const own = errorHeaders(error);
  const list = ['Content-Type', 'application/json; charset=utf-8'];
  list.push('Content-Length', String(Buffer.byteLength(body)), ...extra);
  for (let i = extra.length > 0 ? 2 : 0; i < own.length; i += 2) list.push(own[i] ?? '', own[i + 1] ?? '');
  res.writeHead(error.status, list);
  res.end(body, 'utf8');
}

/** An event's data has no line breaks; JSON may be sent without them. */
function oneLine(body: Buffer): string {
  return body.toString('utf8').replaceAll(/[\r\n]+/g, ' ');
}
