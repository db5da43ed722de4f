/**
 * Listening and the graceful end of a server.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AppError, systemCode } from '../../errors.ts';
import type { Clock } from '../../ports.ts';

/** How often connections that became idle are looked for while closing, ms. */
const SWEEP_MS = 50;

/** Where a server listens. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface Lifecycle {
  listen(): Promise<HttpAddress>;
  close(graceMs: number): Promise<void>;
}

/** `onClosing` is called first, to end what would never end by itself. */
export function lifecycle(options: {
  readonly server: Server;
  readonly listen: HttpAddress;
  readonly clock: Clock;
  readonly onClosing: () => void;
}): Lifecycle {
  const { server, clock } = options;
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    async listen() {
      const { host, port } = options.listen;
      try {
        server.listen({ host, port });
        await once(server, 'listening');
      } catch (error) {
        throw listenFailed(error, options.listen);
      }
      const bound = server.address();
      return typeof bound === 'object' && bound !== null
        ? { host: bound.address, port: bound.port }
        : options.listen;
    },
    async close(graceMs) {
      if (!server.listening) return;
      options.onClosing();
      const closed = once(server, 'close');
      server.close();
      // A connection kept alive by an answer that began before the close would hold it up for a minute.
      let cancelSweep = (): void => {};
      const sweep = (): void => {
        server.closeIdleConnections();
        // Node counts one that was only opened (browsers do it ahead) as busy until its head is overdue.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
        cancelSweep = clock.at(clock.now().mono + SWEEP_MS, sweep);
      };
      sweep();
      const cancelCut = clock.at(clock.now().mono + graceMs, () => server.closeAllConnections());
      await closed;
      cancelSweep();
      cancelCut();
    },
  };
}

function listenFailed(error: unknown, { host, port }: HttpAddress): AppError {
  const code = systemCode(error);
  const why =
    code === 'EADDRINUSE'
      ? 'another program listens there; stop it or set another port under listen'
      : code === 'EACCES'
        ? 'this user may not listen there; take a port over 1023'
        : AppError.from(error).message;
  return new AppError('listen_failed', `Can't listen on ${host}:${port}: ${why}.`, {
    cause: error,
    details: { host, port, code },
  });
}
