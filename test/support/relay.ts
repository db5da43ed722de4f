/** A cable between a client and its server that a test can cut and mend. */
import { once } from 'node:events';
import {
  connect,
  createServer,
  type ListenOptions,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';

export interface Relay {
  readonly server: Server;
  /** Breaks all connections, as a cable does, and refuses new ones. */
  cut(): void;
  mend(): void;
  close(): void;
}

/** Passes on what comes in at `at`; a port or a Unix socket, as `to` is. */
export async function relay(at: ListenOptions, to: NetConnectOpts): Promise<Relay> {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer({ noDelay: true }, (near) => {
    if (!whole) return near.destroy();
    const far = connect(to);
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(other);
      from.on('error', () => other.destroy());
      from.on('close', () => {
        sockets.delete(from);
        other.destroy();
      });
    }
  }).listen(at);
  await once(server, 'listening');
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    server,
    cut,
    mend: () => {
      whole = true;
    },
    close: () => {
      cut();
      server.close();
    },
  };
}
