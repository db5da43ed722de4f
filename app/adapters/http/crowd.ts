/**
 * A bound on connections that says so: one too many is answered with an error, not silently closed. Only when
 * even those are too many, the kernel's word has to do.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../ports.ts';
import { errorObject, ownError } from './errors.ts';
import { requestIdOf } from './forward/headers.ts';
import { refuseBody } from './linger.ts';

export interface CrowdOptions {
  /** Connections that are served at once. */
  readonly most: number;
  readonly clock: Clock;
  /** Told at most once a minute, with how many were refused since. */
  readonly onCrowd: (refused: number) => void;
}

export interface Crowd {
  /** True where the request's connection was one too many; then it is answered. */
  refuses(req: IncomingMessage, res: ServerResponse): boolean;
}

/** Beyond the bound, connections that are told of it. */
const REFUSED_AT_ONCE = 64;
const RETRY_S = 5;
const TELL_EVERY_MS = 60_000;

/** Counts the connections of a server that does not listen yet. */
export function crowd(server: Server, { most, clock, onCrowd }: CrowdOptions): Crowd {
  const beyond = new WeakSet<Socket>();
  let open = 0;
  let refused = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  function note(): void {
    refused += 1;
    const now = clock.now().mono;
    if (now - toldAt < TELL_EVERY_MS) return;
    toldAt = now;
    onCrowd(refused);
    refused = 0;
  }

  server.maxConnections = most + REFUSED_AT_ONCE;
  server.on('drop', note);
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    if (open <= most) return;
    beyond.add(socket);
    note();
  });

  return {
    refuses(req, res) {
      if (!beyond.has(req.socket)) return false;
      const message = `All ${most} connections are in use. Close those that are not needed, or try again later.`;
      const error = ownError('capacity', message, requestIdOf(req.headers), { retryAfter: RETRY_S });
      refuseBody(req, res, error, JSON.stringify({ error: errorObject(error) }));
      return true;
    },
  };
}
