/** What the server does when there is too much of something: a bound, and a word to who meets it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { slowReaders } from '../../../app/adapters/http/slow-readers.ts';
import { manualClock } from '../../support/clock.ts';
import { ask, errorOf, startEdge } from '../../support/edge.ts';
import { until } from '../../support/until.ts';

const GET = 'GET /healthz HTTP/1.1\r\nHost: nas\r\n\r\n';

/** A connection that is open, and what comes on it. */
async function open(port: number) {
  const socket: Socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const chunks: Buffer[] = [];
  let bytes = 0;
  const text = () => Buffer.concat(chunks).toString('latin1');
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  /** Waits for more bytes until this holds; false: the connection was closed before. */
  async function until(holds: () => boolean): Promise<boolean> {
    while (!holds()) {
      const more = await Promise.race([once(socket, 'data'), closed]);
      if (more === undefined) return holds();
    }
    return true;
  }
  return {
    socket,
    text,
    closed,
    bytes: () => bytes,
    until,
    has: (part: string) => until(() => text().includes(part)),
  };
}

const bodyOf = (text: string) => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).error;

test('one connection too many is told so, and the others go on; when one ends there is room again', async (t) => {
  const { port, logged } = await startEdge(t, { bounds: { connections: 2 } });
  const first = await open(port);
  const second = await open(port);
  for (const one of [first, second]) {
    one.socket.write(GET);
    await one.has('{"alive":true}');
  }
  const refused = await ask(port, { path: '/v1/chat/completions', method: 'POST', body: { model: 'chat' } });
  assert.equal(refused.status, 503);
  assert.equal(errorOf(refused)['code'], 'capacity');
  assert.match(errorOf(refused)['message'] ?? '', /All 2 connections/);
  assert.equal(refused.headers['retry-after'], '5');
  assert.equal(refused.headers.connection, 'close');
  await ask(port, { path: '/healthz' });
  assert.deepEqual(
    logged.map(({ fields }) => fields),
    [{ refused: 1, connections: 2 }],
  );
  first.socket.destroy();
  await first.closed;
  let again = await ask(port, { path: '/healthz' });
  while (again.status === 503) again = await ask(port, { path: '/healthz' });
  assert.equal(again.status, 200);
  second.socket.destroy();
});

test('a head that does not come is given up with a word, and so is a connection that says nothing', async (t) => {
  const bounds = { headersTimeout: 100, connectionsCheckingInterval: 20 };
  const { port } = await startEdge(t, { bounds });
  const slow = await open(port);
  slow.socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: nas\r\nX-Slow: ');
  const silent = await open(port);
  await Promise.all([slow.closed, silent.closed]);
  for (const one of [slow, silent]) {
    assert.match(one.text(), /^HTTP\/1\.1 408 /);
    assert.equal(bodyOf(one.text()).code, 'request_timeout');
  }
});

test('a body that does not come whole in all its time is given up', async (t) => {
  const bounds = { headersTimeout: 100, requestTimeout: 150, connectionsCheckingInterval: 20 };
  const { port } = await startEdge(t, { bounds });
  const slow = await open(port);
  slow.socket.write('PATCH /admin/settings HTTP/1.1\r\nHost: nas\r\nContent-Type: application/json\r\n');
  slow.socket.write('Content-Length: 1000\r\n\r\n{');
  await slow.closed;
  assert.match(slow.text(), /^HTTP\/1\.1 408 /);
});

test('too many header lines are refused, since one that is left out could matter', async (t) => {
  const { port } = await startEdge(t);
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'y']));
  // Host and Connection are two more.
  assert.equal((await ask(port, { path: '/healthz', headers: headers(98) })).status, 200);
  const refused = await ask(port, { path: '/healthz', headers: headers(99) });
  assert.equal(refused.status, 431);
  assert.equal(errorOf(refused)['code'], 'head_too_large');
});

test('too large a head and broken HTTP are told in the form of our errors', async (t) => {
  const { port } = await startEdge(t);
  for (const [request, status, code] of [
    [`GET / HTTP/1.1\r\nHost: nas\r\nX-Large: ${'x'.repeat(200_000)}\r\n\r\n`, 431, 'head_too_large'],
    ['HELLO\r\n\r\n', 400, 'invalid_request'],
  ] as const) {
    const one = await open(port);
    one.socket.write(request);
    await one.closed;
    assert.match(one.text(), new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.equal(bodyOf(one.text()).code, code);
  }
});

test('what is no HTTP after a request does not get into its answer', async (t) => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const modelApi = (_req: IncomingMessage, res: ServerResponse): void => resolve(res);
  const { port } = await startEdge(t, { modelApi });
  const one = await open(port);
  one.socket.write('GET /v1/models HTTP/1.1\r\nHost: nas\r\n\r\n');
  const res = await promise;
  res.write('half');
  await one.has('half');
  one.socket.write('NO HTTP\r\n\r\n');
  await one.closed;
  assert.equal(one.text().match(/HTTP\/1\.1/g)?.length, 1);
  assert.ok(!one.text().includes('invalid_request'));
});

const ANSWER = Buffer.alloc(16 * 1024 * 1024, 'x');

/** A server whose answers are larger than what the kernel takes for a client that reads nothing. */
async function largeAnswers(
  t: { after(end: () => void): void },
  options: Partial<Parameters<typeof slowReaders>[0]>,
) {
  const cuts: number[] = [];
  const clock = manualClock();
  const watch = slowReaders({ clock, onCut: (bytes) => cuts.push(bytes), ...options });
  const server = createServer((_req, res) => {
    watch(res);
    res.end(ANSWER);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Begins to read and stops. */
  const stalled = async () => {
    const one = await open((server.address() as AddressInfo).port);
    one.socket.write(GET);
    await one.has('HTTP/1.1 200');
    one.socket.pause();
    return one;
  };
  return { stalled, cuts, clock };
}

/** Reads on and tells whether all of the answer came. */
function rest({ socket, bytes, until }: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const read = until(() => bytes() > ANSWER.length);
  socket.resume();
  return read;
}

test('a complete answer of which a client takes nothing is given up, and its memory with it', async (t) => {
  const { stalled, cuts } = await largeAnswers(t, { patienceMs: 200 });
  const one = await stalled();
  assert.equal(await onceCut(cuts), 1);
  assert.equal(await rest(one), false);
});

async function onceCut(cuts: readonly number[]): Promise<number> {
  await until(() => cuts.length > 0);
  return cuts.length;
}

test('complete answers that wait for slow clients share a bounded room: the longest wait goes first', async (t) => {
  const { stalled, cuts, clock } = await largeAnswers(t, { mostBytes: 2.5 * ANSWER.length });
  const first = await stalled();
  clock.advance(10_000);
  const second = await stalled();
  const third = await stalled();
  assert.equal(await rest(first), false);
  assert.equal(cuts.length, 1);
  assert.equal(await rest(second), true);
  assert.equal(await rest(third), true);
  assert.equal(cuts.length, 1);
});

test('a burst of large answers to clients that read is no reason to cut one', async (t) => {
  const { stalled, cuts } = await largeAnswers(t, { mostBytes: ANSWER.length });
  const clients = await Promise.all([stalled(), stalled(), stalled()]);
  for (const each of clients) assert.equal(await rest(each), true);
  assert.deepEqual(cuts, []);
});
