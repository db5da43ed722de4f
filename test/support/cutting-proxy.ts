/** Stands before a real instance and cuts its streams where a test says: a death at a known place. */
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

export interface CuttingProxy {
  readonly port: number;
  /** Requests as they came in, and cuts as they were made; `at` in ms of `performance.now()`. */
  readonly seen: readonly { readonly what: string; readonly at: number }[];
  /** Cuts streams after so many text events (and so many bytes of what follows); 0: at the first; null: not at all. */
  cutAfter(events: number | null, bytes?: number): void;
  /** Cuts streams after the event that completes this text. */
  cutAtText(text: string): void;
  close(): Promise<void>;
}

interface Cut {
  /** Asked at the end of each event: all so far, and the last event. */
  readonly here: (stream: string, event: string) => 'after' | 'before' | null;
  readonly bytes: number;
}

const EVENT_END = Buffer.from('\n\n');
const TEXT = /"(content|text|delta)":"(?!")/;

export async function cuttingProxy(host: string, port: number): Promise<CuttingProxy> {
  let newCut: () => Cut | null = () => null;
  const sockets = new Set<net.Socket>();
  const seen: { what: string; at: number }[] = [];
  const note = (what: string) => void seen.push({ what, at: performance.now() });
  const server = net.createServer((client) => {
    const upstream = net.connect({ host, port, noDelay: true });
    const cut = newCut();
    const find = placeOf(cut);
    sockets.add(client).add(upstream);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.end();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const path = /^POST (\S+) /.exec(chunk.toString('latin1', 0, 100))?.[1];
      if (path !== undefined) note(path);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      const end = find(chunk);
      if (end < 0) client.write(chunk);
      else {
        // What is written is read before the end, so the place of the cut is sure.
        client.end(chunk.subarray(0, end + (cut?.bytes ?? 0)), () => note('cut'));
        upstream.destroy();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    cutAfter(events, bytes = 0) {
      newCut = () => {
        let seen = 0;
        const here = (_: string, event: string) => {
          if (TEXT.test(event)) seen += 1;
          if (events === 0) return seen > 0 ? 'before' : null;
          return seen === events ? 'after' : null;
        };
        return events === null ? null : { here, bytes };
      };
    },
    cutAtText(text) {
      newCut = () => ({ here: (stream) => (stream.includes(text) ? 'after' : null), bytes: 0 });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Reads one connection's bytes; gives the offset of the cut in this chunk, -1: not here. */
function placeOf(cut: Cut | null): (chunk: Buffer) => number {
  let stream = '';
  let event = '';
  return (chunk) => {
    for (let start = 0; cut !== null && start < chunk.length; ) {
      const at = chunk.indexOf(EVENT_END, start);
      const end = at < 0 ? chunk.length : at + EVENT_END.length;
      event += chunk.toString('latin1', start, end);
      if (at >= 0) {
        stream += event;
        const place = cut.here(stream, event);
        if (place !== null) return place === 'after' ? end : start;
        event = '';
      }
      start = end;
    }
    return -1;
  };
}
