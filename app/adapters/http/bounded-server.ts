/** A server whose every resource has a bound: heads, bodies in time, connections, answers that nobody takes. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../ports.ts';
import { tellBrokenRequests } from './broken-requests.ts';
import { crowd } from './crowd.ts';
import { errorObject, ownError } from './errors.ts';
import { requestIdOf } from './forward/headers.ts';
import { refuseBody } from './linger.ts';
import type { HttpLog } from './options.ts';
import { slowReaders } from './slow-readers.ts';

/** Bounds that a server may be given instead of the usual ones. */
export interface Bounds {
  readonly connections: number;
  /** For the head of a request, ms. */
  readonly headersTimeout: number;
  /** For all of a request, ms. */
  readonly requestTimeout: number;
  /** How often the two are looked at, ms. */
  readonly connectionsCheckingInterval: number;
}

/**
 * `requestTimeout` runs only until the request is read whole, so it cuts no slow answer; it is long enough
 * for a picture over poor Wi-Fi. Most proxies and clients keep an idle connection for a minute at most.
 */
const USUAL: Bounds = {
  connections: 2_048,
  headersTimeout: 30_000,
  requestTimeout: 30 * 60_000,
  connectionsCheckingInterval: 10_000,
};
const FIXED = {
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1_024,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const;
const MOST_HEADERS = 100;

export interface BoundedServerOptions {
  readonly listener: RequestListener;
  readonly bounds?: Partial<Bounds>;
  readonly clock: Clock;
  readonly log: HttpLog;
}

/** Makes the server; it does not listen yet. */
export function boundedServer({ listener, bounds, clock, log }: BoundedServerOptions): Server {
  const { connections, ...times } = { ...USUAL, ...bounds };
  const owed = new WeakMap<Socket, Set<ServerResponse>>();
  const watchReader = slowReaders({
    clock,
    onCut: (bytes) => log.warn({ bytes }, 'an answer was cut: its client takes nothing'),
  });
  const server = createServer({ ...FIXED, ...times }, (req, res) => {
    owe(owed, req.socket, res);
    watchReader(res);
    if (!crowded.refuses(req, res) && !tooManyHeaders(req, res)) listener(req, res);
  });
  const crowded = crowd(server, {
    most: connections,
    clock,
    onCrowd: (refused) =>
      log.warn({ refused, connections }, 'all connections are in use; new ones are refused'),
  });
  // Node leaves out what is beyond: one more shows that there was more.
  server.maxHeadersCount = MOST_HEADERS + 1;
  tellBrokenRequests(server, (socket) => [...(owed.get(socket) ?? [])].some((res) => res.headersSent));
  return server;
}

/** Notes an answer until it is closed. */
function owe(owed: WeakMap<Socket, Set<ServerResponse>>, socket: Socket, res: ServerResponse): void {
  const answers = owed.get(socket) ?? new Set();
  owed.set(socket, answers.add(res));
  res.once('close', () => answers.delete(res));
}

/** A line that is left out could be the one that matters. */
function tooManyHeaders(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.rawHeaders.length <= 2 * MOST_HEADERS) return false;
  const message = `The request has more than ${MOST_HEADERS} header lines, the most that are taken.`;
  const error = ownError('head_too_large', message, requestIdOf(req.headers));
  refuseBody(req, res, error, JSON.stringify({ error: errorObject(error) }));
  return true;
}
