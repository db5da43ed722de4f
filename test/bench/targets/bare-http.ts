/**
 * The least that a proxy on `node:http` does: its server in front, the forwarder's own client behind, nothing decided. A
 * program:
 *
 *     node bare-http.ts PORT UPSTREAM
 */
import { createServer, type ServerResponse } from 'node:http';
import { type Lane, type LaneSink, openLane } from '../../../app/adapters/http/forward/lane.ts';

const [port, upstream] = process.argv.slice(2);
if (port === undefined || upstream === undefined) throw new Error('usage: bare-http.ts PORT UPSTREAM');
const { hostname, port: upstreamPort } = new URL(upstream);
const free: Lane[] = [];

function open(): Lane {
  return openLane({
    host: hostname,
    port: Number(upstreamPort),
    key: '',
    connectMs: 1_000,
    onFree: (lane) => void free.push(lane),
    onClosed(lane) {
      const at = free.indexOf(lane);
      if (at >= 0) free.splice(at, 1);
    },
  });
}

/** A body by length goes out in one write with its head; a stream as it comes. */
function answerInto(res: ServerResponse): LaneSink {
  const parts: Buffer[] = [];
  let streams = false;
  return {
    head({ status, contentType, contentLength }) {
      streams = contentLength === null;
      const list = ['Content-Type', contentType ?? 'application/json'];
      if (contentLength !== null) list.push('Content-Length', contentLength);
      res.writeHead(status, list);
    },
    data(chunk) {
      if (streams) res.write(chunk);
      else parts.push(chunk);
    },
    end: () => void (streams ? res.end() : res.end(Buffer.concat(parts).toString('latin1'), 'latin1')),
    broken: () => void res.destroy(),
  };
}

createServer((req, res) => {
  if (req.method === 'GET') {
    res.end('ok');
    return;
  }
  const parts: Buffer[] = [];
  req.on('data', (part: Buffer) => void parts.push(part));
  req.on('end', () => (free.pop() ?? open()).send(req.url ?? '', Buffer.concat(parts), answerInto(res)));
}).listen(Number(port), '127.0.0.1');
