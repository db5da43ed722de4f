import { once } from 'node:events';
import { createServer } from 'node:net';

/** The first of the wanted ports that is free on this machine, else any free one. */
export async function freePort(wanted: readonly number[]): Promise<number> {
  for (const port of [...wanted, 0]) {
    const taken = await tryPort(port);
    if (taken !== undefined) return taken;
  }
  throw new Error('no free port');
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer();
  server.listen(port, '0.0.0.0');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : undefined;
}
