/** Refusing somebody who is still sending: the refusal has to arrive, and then the connection has to go. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OwnError } from './errors.ts';
import { errorHeaders } from './errors.ts';

/** Time that a client has to take the answer to what it is still sending. */
export const LINGER_MS = 5000;

/**
 * Refuses a request whose body is still being sent. The answer is complete by its length, but the connection is
 * kept until the client has stopped sending: closed at once, unread bytes would reset it and the client would
 * never see the answer.
 */
export function refuseBody(req: IncomingMessage, res: ServerResponse, error: OwnError, body: string): void {
  res.writeHead(error.status, [
    ...['Content-Type', 'application/json; charset=utf-8', ...errorHeaders(error)],
    ...['Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close'],
  ]);
  res.write(body);
  if (req.complete) {
    res.end();
    return;
  }
  const patience = setTimeout(() => res.end(), LINGER_MS);
  req.once('end', () => res.end());
  res.once('close', () => clearTimeout(patience));
  req.resume();
}
