/** What is no HTTP, too large a head, or does not come: told in the form of our errors, then the connection goes. */
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { systemCode } from '../../errors.ts';
import { errorObject, ownError } from './errors.ts';
import { requestIdOf } from './forward/headers.ts';
import { LINGER_MS } from './linger.ts';

interface Broken {
  readonly code: string;
  readonly message: string;
}

const NOT_HTTP: Broken = { code: 'invalid_request', message: 'This is no request of HTTP/1.1.' };
const BROKEN: Readonly<Record<string, Broken>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'head_too_large',
    message: 'The head of the request is larger than 16 KiB, the most that is taken.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request_timeout',
    message: 'The request did not come in time: its head within 30 s, all of it within 30 minutes.',
  },
};

/** `answering`: an answer is being sent on this connection, so nothing else may be. */
export function tellBrokenRequests(server: Server, answering: (socket: Socket) => boolean): void {
  const told = new WeakSet<object>();
  server.on('clientError', (thrown, stream) => {
    const socket = stream as Socket;
    if (told.has(socket)) return;
    told.add(socket);
    if (!socket.writable || answering(socket)) {
      socket.destroy();
      return;
    }
    socket.end(answerTo(BROKEN[systemCode(thrown) ?? ''] ?? NOT_HTTP));
    // It may still be sending: closed at once, that would reset the connection before it has read this.
    const patience = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(patience));
  });
}

function answerTo({ code, message }: Broken): string {
  const error = ownError(code, message, requestIdOf({}));
  const body = JSON.stringify({ error: errorObject(error) });
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${error.requestId}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
