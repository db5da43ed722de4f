/**
 * Where an answer is written: a client's `ServerResponse`, or something that takes its place. Only the calls
 * that the forwarder makes, each with the meaning that it has there.
 */
export interface Wire {
  /** Node sends the body in chunks; set false after the head, chunks are framed by who writes. */
  chunkedEncoding: boolean;
  readonly writableNeedDrain: boolean;
  /** `headers`: flat name, value. */
  writeHead(status: number, headers: string[]): unknown;
  write(bytes: Buffer): unknown;
  write(text: string, encoding: 'latin1'): unknown;
  end(): unknown;
  end(text: string, encoding: 'latin1' | 'utf8'): unknown;
  destroy(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  /** The connection below, once it is this answer's turn on it; none where it goes elsewhere. */
  readonly socket?: Connection | null;
}

/** What is sent past a `ServerResponse` keeps its order: it holds nothing back once it has its connection. */
export interface Connection {
  readonly writableNeedDrain: boolean;
  write(text: string, encoding: 'latin1'): unknown;
  on(event: 'drain', listener: () => void): unknown;
  off(event: 'drain', listener: () => void): unknown;
}
