/**
 * One connection to an instance, for one request at a time. A client of our own, since a general one hides
 * what the verdicts rest on (did this socket carry a request before, was this one sent at all) and costs as
 * much as all the rest of a small request.
 */
import net from 'node:net';
import { type ResponseHead, type ResponseParser, type Reuse, responseParser } from './response-parser.ts';

export interface LaneSink {
  head(head: ResponseHead): void;
  data(chunk: Buffer): void;
  /** The answer is whole. */
  end(): void;
  /** `sent`: the connection stood, so the instance may have had the request; `stale`: it carried one before. */
  broken(how: { readonly sent: boolean; readonly stale: boolean }): void;
}

export interface Lane {
  /** Sends a request; the answer goes to the sink, which is called until `end`, `broken` or `abort`. */
  send(path: string, body: Buffer, sink: LaneSink): void;
  pause(): void;
  resume(): void;
  /** Gives the request up by closing the connection; the sink is not called again. Nothing where none runs. */
  abort(): void;
  /** Closes the connection; a request on it is broken, and not as stale. */
  destroy(): void;
}

export interface LaneOptions {
  readonly host: string;
  readonly port: number;
  readonly key: string;
  readonly connectMs: number;
  /** It may carry another request. */
  readonly onFree: (lane: Lane, reuse: Exclude<Reuse, 'never'>) => void;
  readonly onClosed: (lane: Lane) => void;
}

/** A request up to this size goes out in one write; node joins head and body only as strings. */
const ONE_WRITE_BYTES = 32 * 1024;

/** Every socket reads into it in turn; Node would make 64 KiB for each read, and an event of a stream is a read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** Connects at once. */
export function openLane(options: LaneOptions): Lane {
  const { host, port } = options;
  const headOf = requestHead(options);
  const parser: ResponseParser = responseParser();
  const socket = net.connect({
    ...{ host, port, noDelay: true, autoSelectFamily: false },
    onread: { buffer: READ_BUFFER, callback: read },
  });
  let connected = false;
  let carried = 0;
  let ours = false;
  let sink: LaneSink | null = null;
  let waiting: { readonly path: string; readonly body: Buffer } | null = null;

  // Where we are late ourselves, that it is connected may not be read yet.
  const giveUp = () => void (connected || socket.destroy());
  const deadline = setTimeout(() => setImmediate(giveUp), options.connectMs);
  socket.once('connect', () => {
    clearTimeout(deadline);
    connected = true;
    if (waiting !== null) write(waiting.path, waiting.body);
    waiting = null;
  });
  socket.once('end', () => parser.closed());
  // The reason is of no use: whatever broke the connection, what was sent and received decides.
  socket.on('error', () => {});
  socket.once('close', () => {
    clearTimeout(deadline);
    const lost = sink;
    sink = null;
    parser.drop();
    options.onClosed(lane);
    lost?.broken({ sent: connected, stale: carried > 1 && !ours });
  });

  /** Copied: the sink may keep what it gets. */
  function read(size: number, bytes: Uint8Array): boolean {
    if (!parser.feed(Buffer.from(bytes.subarray(0, size)))) socket.destroy();
    return true;
  }

  function write(path: string, body: Buffer): void {
    const head = headOf(path, body.length);
    if (body.length <= ONE_WRITE_BYTES) {
      socket.write(head + body.toString('latin1'), 'latin1');
      return;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }

  const responses = {
    head: (head: ResponseHead) => sink?.head(head),
    data: (chunk: Buffer) => sink?.data(chunk),
    end(reuse: Reuse) {
      const done = sink;
      sink = null;
      if (reuse === 'never' || socket.writableLength > 0) socket.destroy();
      else {
        // A slow client may have paused it on the last bytes.
        if (socket.isPaused()) socket.resume();
        options.onFree(lane, reuse);
      }
      done?.end();
    },
  };

  const lane: Lane = {
    send(path, body, to) {
      sink = to;
      carried += 1;
      parser.expect(responses);
      if (connected) write(path, body);
      else waiting = { path, body };
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    abort() {
      if (sink === null) return;
      sink = null;
      parser.drop();
      socket.destroy();
    },
    destroy() {
      ours = true;
      socket.destroy();
    },
  };
  return lane;
}

/** What stays the same for a connection is put together once. */
function requestHead({ host, port, key }: LaneOptions): (path: string, length: number) => string {
  const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
  const fixed = ` HTTP/1.1\r\nHost: ${authority}\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\nContent-Length: `;
  return (path, length) => `POST ${path}${fixed}${length}\r\n\r\n`;
}
