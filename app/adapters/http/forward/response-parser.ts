/**
 * HTTP/1.1 answers of an instance, read from the bytes of one connection (RFC 9112): the head, then a body by
 * length, by chunks, or to the end of the connection. Strict: what is not plain HTTP is a broken connection.
 */
import { chunkSize, type HeadFields, parseHead, type ResponseHead } from './response-head.ts';

export type { ResponseHead } from './response-head.ts';

export interface ResponseSink {
  head(head: ResponseHead): void;
  data(chunk: Buffer): void;
  /** The answer is whole. */
  end(reuse: Reuse): void;
}

/** When the connection may carry another request; `rested`: after chunks llama-server closes it, though late. */
export type Reuse = 'now' | 'rested' | 'never';

export interface ResponseParser {
  /** The next answer goes to this sink. */
  expect(sink: ResponseSink): void;
  /** False: this is not HTTP, or nobody asked. The sink is not called again then. */
  feed(bytes: Buffer): boolean;
  /** The peer closed; true: that ended an answer whose body runs to the end of the connection. */
  closed(): boolean;
  /** No more calls of the sink. */
  drop(): void;
}

type State = 'idle' | 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk-end' | 'trailer' | 'broken';

const MOST_HEAD_BYTES = 64 * 1024;
const MOST_LINE_BYTES = 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const CRLF = Buffer.from('\r\n');
const EMPTY = Buffer.alloc(0);

export function responseParser(): ResponseParser {
  let state: State = 'idle';
  let sink: ResponseSink | null = null;
  let before: Buffer = EMPTY;
  let left = 0;
  let reuse: Reuse = 'never';

  function finish(): void {
    const done = sink;
    state = 'idle';
    sink = null;
    done?.end(reuse);
  }

  /** Reads the head at `at`; returns the offset after it, -1 where it is not whole. */
  function readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(HEAD_END, at);
    if (end < 0) return -1;
    const next = end + HEAD_END.length;
    const fields = parseHead(bytes.toString('latin1', at, end));
    if (fields === null) state = 'broken';
    else if (fields.head.status >= 200) begin(fields);
    return next;
  }

  function begin({ head, chunked, length, persistent }: HeadFields): void {
    reuse = persistent ? (chunked ? 'rested' : 'now') : 'never';
    const bodyless = head.status === 204 || head.status === 304;
    left = bodyless ? 0 : (length ?? 0);
    if (bodyless) state = 'length';
    else if (chunked) state = 'size';
    else if (length !== null) state = 'length';
    else {
      state = 'close';
      reuse = 'never';
    }
    sink?.head(head);
    if (state === 'length' && left === 0) finish();
  }

  /** Passes on up to `left` bytes. */
  function readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + left);
    left -= end - at;
    sink?.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (left === 0 && state === 'length') finish();
    else if (left === 0 && state === 'chunk') state = 'chunk-end';
    return end;
  }

  /** A line of the chunked framing: a size, the line end after a chunk, a trailer. */
  function readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(CRLF, at);
    if (end < 0) return -1;
    if (state === 'size') {
      left = chunkSize(bytes.toString('latin1', at, end));
      if (left < 0) state = 'broken';
      else state = left === 0 ? 'trailer' : 'chunk';
    } else if (state === 'chunk-end') state = end === at ? 'size' : 'broken';
    else if (end === at) finish();
    return end + CRLF.length;
  }

  /** One step from `at`; -1: more bytes are needed. */
  function step(bytes: Buffer, at: number): number {
    if (state === 'head') return readHead(bytes, at);
    if (state === 'length' || state === 'chunk') return readBody(bytes, at);
    if (state !== 'close') return readLine(bytes, at);
    sink?.data(at === 0 ? bytes : bytes.subarray(at));
    return bytes.length;
  }

  return {
    expect(next) {
      sink = next;
      state = 'head';
      before = EMPTY;
    },
    feed(chunk) {
      const bytes = before.length === 0 ? chunk : Buffer.concat([before, chunk]);
      before = EMPTY;
      for (let at = 0; at < bytes.length; ) {
        if (sink === null || state === 'idle' || state === 'broken') return false;
        const next = step(bytes, at);
        if (next < 0) {
          before = bytes.subarray(at);
          return before.length <= (state === 'head' ? MOST_HEAD_BYTES : MOST_LINE_BYTES);
        }
        at = next;
      }
      return (state as State) !== 'broken';
    },
    closed() {
      if (state !== 'close') return false;
      finish();
      return true;
    },
    drop() {
      sink = null;
    },
  };
}
