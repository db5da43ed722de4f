/** A cable between a client and its broker that a test can cut and mend. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly url: string;
  /** Breaks all connections, as a cable does, and refuses new ones. */
  cut(): void;
  mend(): void;
  close(): void;
}

export async function relayTo(port: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer({ noDelay: true }, (near) => {
    if (!whole) return near.destroy();
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
