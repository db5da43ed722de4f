/**
 * The floor: what Node takes to carry bytes from one socket to another. It reads no HTTP; each connection of a client has
 * one of its own to the upstream. A program:
 *
 *     node pipe.ts PORT UPSTREAM
 */
import net from 'node:net';

const [port, upstream] = process.argv.slice(2);
if (port === undefined || upstream === undefined) throw new Error('usage: pipe.ts PORT UPSTREAM');
const { hostname, port: upstreamPort } = new URL(upstream);

net
  .createServer({ noDelay: true }, (client) => {
    const server = net.connect({ host: hostname, port: Number(upstreamPort), noDelay: true });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', (bytes) => void to.write(bytes));
      from.on('close', () => to.destroy());
      from.on('error', () => {});
    }
  })
  .listen(Number(port), '127.0.0.1');
