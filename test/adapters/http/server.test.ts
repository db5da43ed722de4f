import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { httpServer } from '../../../app/adapters/http/server.ts';
import { AppError } from '../../../app/errors.ts';
import { ask, errorOf, startEdge } from '../../support/edge.ts';
import { readEvents } from '../../support/event-source.ts';

/** A model API whose answers the test writes itself. */
function heldModel() {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const modelApi = (_req: IncomingMessage, res: ServerResponse): void => resolve(res);
  return { modelApi, answer: promise };
}

async function raw(port: number, text: string): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1');
  let got = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    got += chunk;
  });
  socket.write(text);
  await once(socket, 'close');
  return got;
}

test('model paths go to the model API as they came, everything else does not', async (t) => {
  const seen: string[] = [];
  const { port } = await startEdge(t, {
    modelApi(req, res) {
      seen.push(`${req.method} ${req.url}`);
      res.end();
    },
  });
  for (const path of [
    '/v1/models',
    '/v1/chat/completions?x=1',
    '/api/tags',
    '/v1',
    '/vv1/',
    '/admin/state',
  ]) {
    await ask(port, { path });
  }
  assert.deepEqual(seen, ['GET /v1/models', 'GET /v1/chat/completions?x=1', 'GET /api/tags']);
});

test('a path that nobody knows is named, also below /v1', async (t) => {
  const { port } = await startEdge(t, { modelApi: (_req, _res, next) => next() });
  for (const path of ['/v1/images', '/api/pull', '/nothing', '/admin/nothing', '/admin']) {
    const answer = await ask(port, { path });
    assert.deepEqual([answer.status, errorOf(answer)['code']], [404, 'not_found'], path);
  }
});

test('a model API that throws costs one answer, not the process', async (t) => {
  const { port, logged } = await startEdge(t, {
    modelApi() {
      throw new TypeError('a fault');
    },
  });
  const answer = await ask(port, { path: '/v1/models' });
  assert.deepEqual([answer.status, errorOf(answer)['code']], [500, 'internal']);
  assert.equal(logged.length, 1);
});

test('too large a head and broken HTTP are refused', async (t) => {
  const { port } = await startEdge(t);
  const large = `GET / HTTP/1.1\r\nHost: nas\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`;
  assert.match(await raw(port, large), /^HTTP\/1\.1 431 /);
  assert.match(await raw(port, 'HELLO\r\n\r\n'), /^HTTP\/1\.1 400 /);
  assert.match(await raw(port, 'GET /admin/state HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /);
});

test('a port that is taken is an error that says so', async (t) => {
  const { port, ...parts } = await startEdge(t);
  const second = httpServer({
    listen: { host: '127.0.0.1', port },
    modelApi: () => {},
    security: () => ({ adminToken: null, apiKeys: [], allowedHosts: [] }),
    health: () => ({ alive: true, ready: true, reasons: [] }),
    access: { url: () => null, broker: () => null, brokerPassword: () => null },
    webRoot: '/nonexistent',
    language: () => 'auto',
    log: { warn: () => {}, error: () => {} },
    ...parts,
  });
  await assert.rejects(second.listen(), (error) => {
    assert.ok(error instanceof AppError && error.code === 'listen_failed');
    assert.match(error.message, /another program listens there/);
    return true;
  });
});

test('a close lets the answer in flight end, and ends event streams at once', async (t) => {
  const { modelApi, answer } = heldModel();
  const { port, server, clock } = await startEdge(t, { modelApi });
  const reader = await readEvents(port, '/admin/events/stream');
  const asked = ask(port, { path: '/v1/chat/completions', method: 'POST', body: {} });
  const res = await answer;
  const closed = server.close(10_000);
  await reader.ended;
  await assert.rejects(ask(port, { path: '/healthz' }), /ECONNREFUSED/);
  clock.advance(5_000);
  res.end('whole');
  assert.equal((await asked).text, 'whole');
  await closed;
});

test('a kept-alive connection does not hold up a close', async (t) => {
  const { modelApi, answer } = heldModel();
  const { port, server, clock } = await startEdge(t, { modelApi });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const req = request({ host: '127.0.0.1', port, path: '/v1/models', agent });
  req.end();
  const res = await answer;
  // Its head, with keep-alive, went out before the close.
  res.write('part');
  const [response] = (await once(req, 'response')) as [IncomingMessage];
  const closed = server.close(3_600_000);
  res.end('rest');
  response.resume();
  await once(response, 'end');
  clock.advance(100);
  await closed;
});

test('a connection that asked for nothing, as browsers open ahead, does not hold up a close', async (t) => {
  const { port, server } = await startEdge(t);
  const silent = connect(port, '127.0.0.1');
  const gone = once(silent, 'close');
  // The server has taken it when it answers one that came after it.
  await ask(port, { path: '/healthz' });
  await server.close(3_600_000);
  await gone;
});

test('an answer that takes longer than the grace is cut', async (t) => {
  const { modelApi, answer } = heldModel();
  const { port, server, clock } = await startEdge(t, { modelApi });
  const asked = ask(port, { path: '/v1/chat/completions', method: 'POST', body: {} });
  const cut = assert.rejects(asked, /hang up|aborted|ECONNRESET/);
  await answer;
  const closed = server.close(2_000);
  clock.advance(2_000);
  await Promise.all([closed, cut]);
});
