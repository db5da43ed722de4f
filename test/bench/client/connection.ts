/**
 * A client on a bare socket: it shares the machine with what it measures, and a general HTTP client would cost
 * more than a good proxy. Times are `performance.now()`.
 */
import net from 'node:net';
import { responseParser } from '../../../app/adapters/http/forward/response-parser.ts';

export interface Reply {
  readonly status: number;
  /** Null: the answer is whole. */
  readonly error: string | null;
  readonly sentAt: number;
  readonly firstAt: number;
  readonly endAt: number;
  readonly body: Buffer;
  /** The server had closed a kept connection; sent again, as HTTP clients do. */
  readonly again: boolean;
}

export interface Connection {
  /** One at a time; `onBody` sees each piece of the body as it comes. Never rejects. */
  send(request: Buffer, onBody?: (piece: Buffer, at: number) => void): Promise<Reply>;
  close(): void;
}

const TIMEOUT_MS = 60_000;

/** Connects at the first request, and again where the server closed. */
export function connectionTo(host: string, port: number): Connection {
  let socket: net.Socket | null = null;
  let running: Running | null = null;
  const parser = responseParser();

  function open(): net.Socket {
    const made = net.connect({ host, port, noDelay: true });
    made.on('data', (bytes) => {
      if (!parser.feed(bytes)) made.destroy();
    });
    made.on('end', () => parser.closed());
    made.on('error', () => {});
    made.on('close', () => {
      if (socket === made) socket = null;
      running?.finish('the connection closed');
    });
    return made;
  }

  async function once(request: Buffer, onBody: OnBody): Promise<Reply> {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    running = runningRequest(onBody, (reply) => {
      running = null;
      resolve(reply);
    });
    const mine = running;
    const timer = setTimeout(() => socket?.destroy(), TIMEOUT_MS);
    parser.expect({
      head: ({ status }) => mine.status(status),
      data: mine.data,
      end(reuse) {
        if (reuse === 'never') {
          socket?.destroy();
          socket = null;
        }
        mine.finish(null);
      },
    });
    socket ??= open();
    socket.write(request);
    const reply = await promise;
    clearTimeout(timer);
    return reply;
  }

  return {
    async send(request, onBody = () => {}) {
      const reused = socket !== null;
      const first = await once(request, onBody);
      if (!reused || first.error === null || first.status > 0) return first;
      return { ...(await once(request, onBody)), sentAt: first.sentAt, again: true };
    },
    close() {
      socket?.destroy();
      socket = null;
    },
  };
}

type OnBody = (piece: Buffer, at: number) => void;

interface Running {
  status(status: number): void;
  readonly data: (piece: Buffer) => void;
  finish(error: string | null): void;
}

function runningRequest(onBody: OnBody, ended: (reply: Reply) => void): Running {
  const sentAt = performance.now();
  const pieces: Buffer[] = [];
  let status = 0;
  let firstAt = 0;
  return {
    status(told) {
      status = told;
    },
    data(piece) {
      const at = performance.now();
      if (firstAt === 0) firstAt = at;
      pieces.push(piece);
      onBody(piece, at);
    },
    finish(error) {
      const [only] = pieces;
      const body = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
      ended({ status, error, sentAt, firstAt, endAt: performance.now(), body, again: false });
    },
  };
}
