/** Ports of the loopback for servers that are told their port, or come back on it. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that the kernel gives to connections and to whoever asks for any: none of these is taken by chance. */
const LOWEST = 11_600;
const END = 32_000;

/** A port of its own for each of `count`, each free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = randomInt(LOWEST, END);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('no free port');
  return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
