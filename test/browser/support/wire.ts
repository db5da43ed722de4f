/** The network between browser and server, as a test wants it: whole, cut, or silent. */
import { createConnection, createServer, type Socket } from 'node:net';
import { freePort } from '../../support/ports.ts';

export interface Wire {
  readonly port: number;
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes bytes and gives none, as a network that lost its cable. */
  silence(): void;
  /** Whole again; what was silent is broken, as a peer's timeout would. */
  mend(): Promise<void>;
  /** Connections that are open now. */
  open(): number;
  close(): Promise<void>;
}

/** Listens on the loopback in front of `target`, a port there. */
export async function wire(target: number): Promise<Wire> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let silent = false;
  const port = await freePort();

  const server = createServer((near) => {
    const far = createConnection({ host: '127.0.0.1', port: target });
    const pair = [near, far] as const;
    pairs.add(pair);
    near.on('data', (bytes) => {
      if (!silent) far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!silent) near.write(bytes);
    });
    const end = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on('close', end).on('error', end);
  });
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const breakAll = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  await listen();
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      if (!server.listening) return resolve();
      server.close(() => resolve());
      breakAll();
    });
  return {
    port,
    cut: stop,
    silence() {
      silent = true;
    },
    async mend() {
      silent = false;
      breakAll();
      if (!server.listening) await listen();
    },
    open: () => pairs.size,
    close: stop,
  };
}
