/** A broker that can be taken away, and what was published to it. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import type { Fact } from '../../../app/core/facts.ts';
import { freePort } from '../../support/ports.ts';

export interface ChaosBroker {
  readonly url: string;
  /** Facts in the order in which they came, doubles included. */
  readonly facts: readonly Fact[];
  stopFor(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** @param home name of the home whose events are kept */
export async function startBroker(home: string): Promise<ChaosBroker> {
  const facts: Fact[] = [];
  const aedes = await Aedes.createBroker();
  aedes.on('publish', (packet) => {
    if (packet.topic === `llamastead/${home}/event`)
      facts.push(JSON.parse(packet.payload.toString()) as Fact);
  });
  const sockets = new Set<Socket>();
  const port = await freePort();
  let server = await listen();

  async function listen(): Promise<Server> {
    const made = createServer((socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      aedes.handle(socket);
    });
    made.listen(port, '127.0.0.1');
    await once(made, 'listening');
    return made;
  }

  async function stop(): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  return {
    url: `mqtt://127.0.0.1:${port}`,
    facts,
    async stopFor(ms) {
      await stop();
      await new Promise((resolve) => setTimeout(resolve, ms));
      server = await listen();
    },
    async close() {
      await stop();
      await new Promise<void>((resolve) => aedes.close(resolve));
    },
  };
}
