/** What is answered without an instance: models, wrong paths, wrong bodies, refusals. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { after, test } from 'node:test';
import { manualClock } from '../../../support/clock.ts';
import { fakeLlama, whole } from '../../../support/fake-llama.ts';
import { type Bench, type BenchOptions, forwardBench } from '../../../support/forward-bench.ts';
import { ask, get, post } from '../../../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const gpu = await fakeLlama(whole());
const benches: Bench[] = [];

after(async () => {
  for (const bench of benches) await bench.close();
  await gpu.close();
});

async function home(options: Partial<BenchOptions> = {}): Promise<Bench> {
  const bench = await forwardBench({ ports: [gpu.port], ...options });
  benches.push(bench);
  return bench;
}

const errorOf = (text: string) => JSON.parse(text).error;

test('models are listed without asking the gate', async () => {
  const bench = await home();
  const list = JSON.parse((await get(`${bench.url}/v1/models`)).text());
  assert.equal(list.object, 'list');
  assert.deepEqual(
    list.data.map((model: { id: string; object: string }) => [model.id, model.object]),
    [['chat', 'model']],
  );
  assert.equal(JSON.parse((await get(`${bench.url}/v1/models/chat`)).text()).id, 'chat');
  assert.equal(JSON.parse((await get(`${bench.url}/v1/models/gpt-4o-mini`)).text()).id, 'gpt-4o-mini');
  const unknown = await get(`${bench.url}/v1/models/%ED%95%9C`);
  assert.equal(unknown.status, 404);
  assert.equal(errorOf(unknown.text()).code, 'unknown_model');
  assert.equal(bench.tickets.length, 0);
});

test("paths that there are not get 404 in OpenAI's form, other methods 405, other paths go on", async () => {
  const bench = await home();
  const unknown = await ask(`${bench.url}/v1/images/generations`, {}, { 'X-Request-Id': 'q' });
  assert.equal(unknown.status, 404);
  assert.equal(errorOf(unknown.text()).code, 'not_found');
  assert.equal(errorOf(unknown.text()).request_id, 'q');
  const wrong = await get(bench.url + PATH);
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers['allow'], 'POST');
  assert.equal((await get(`${bench.url}/metrics`)).text(), 'not ours');
});

test('a wrong body says what was expected, in the form of the path, and no instance hears of it', async () => {
  const bench = await home();
  for (const body of ['', 'not json', '[1]', '{"model":3}']) {
    const reply = await ask(bench.url + PATH, body);
    assert.equal(reply.status, 400, body);
    assert.equal(errorOf(reply.text()).code, 'invalid_request');
    assert.equal(errorOf(reply.text()).type, 'invalid_request_error');
    assert.match(errorOf(reply.text()).message, /expected|must be/);
  }
  const anthropic = await ask(`${bench.url}/v1/messages`, 'not json');
  assert.equal(JSON.parse(anthropic.text()).type, 'error');
  const packed = await ask(bench.url + PATH, 'x', { 'Content-Encoding': 'gzip' });
  assert.equal(packed.status, 400);
  const deadline = await ask(bench.url + PATH, '{}', { 'Llamastead-Deadline': 'soon' });
  assert.match(errorOf(deadline.text()).message, /60s/);
  assert.equal(bench.tickets.length, 0);
});

test('too large a body gets 413, announced or not, and the client sees it', async () => {
  const bench = await home({ settings: { bodyLimit: 100_000 } });
  const large = `{"model":"chat","x":"${'y'.repeat(3_000_000)}"}`;
  const announced = await ask(bench.url + PATH, large);
  assert.equal(announced.status, 413);
  assert.equal(errorOf(announced.text()).code, 'body_too_large');
  assert.equal(announced.headers['connection'], 'close');
  const request = http.request(bench.url + PATH, { method: 'POST', agent: false });
  const replied = new Promise<http.IncomingMessage>((resolve) => request.once('response', resolve));
  for (let i = 0; i < 30; i += 1) request.write('z'.repeat(100_000));
  request.end();
  const response = await replied;
  response.resume();
  assert.equal(response.statusCode, 413);
  assert.equal(bench.tickets.length, 0);
});

test('refusals carry their status, Retry-After and x-should-retry as the contract says', async () => {
  const rows = [
    ['unknown_model', null, 404, undefined, undefined],
    ['queue_full', 2.2, 429, '3', undefined],
    ['capacity', 30, 503, '30', undefined],
    ['capacity', null, 503, undefined, 'false'],
    ['preparing', 1, 503, '1', undefined],
    ['mode_off', null, 503, undefined, 'false'],
    ['deadline', null, 504, undefined, undefined],
    ['backend_failed', null, 502, undefined, undefined],
    ['poison', null, 422, undefined, 'false'],
  ] as const;
  for (const [code, retryAfter, status, after, retry] of rows) {
    const bench = await home({
      onArrival: () => ({ do: 'refuse', refusal: { code, message: 'because', retryAfter } }),
    });
    for (const stream of [false, true]) {
      const reply = await ask(bench.url + PATH, { stream }, { 'X-Request-Id': 'r' });
      assert.equal(reply.status, status, code);
      assert.equal(reply.headers['retry-after'], after, code);
      assert.equal(reply.headers['x-should-retry'], retry, code);
      assert.equal(reply.headers['x-request-id'], 'r');
      assert.deepEqual(Object.keys(errorOf(reply.text())), ['message', 'type', 'code', 'request_id']);
    }
  }
});

test('a backend_failed after a replay is final', async () => {
  gpu.behave(({ reset }) => reset());
  const bench = await home({
    onFailure: ({ outcomes }) =>
      outcomes.length < 2
        ? { do: 'grant', instance: 0 }
        : { do: 'refuse', refusal: { code: 'backend_failed', message: 'twice', retryAfter: null } },
  });
  const reply = await ask(bench.url + PATH, { model: 'chat' });
  assert.equal(reply.status, 502);
  assert.equal(reply.headers['x-should-retry'], 'false');
  assert.equal(reply.headers['llamastead-attempts'], '2');
});

test('a client that leaves while it sends its body is forgotten', async () => {
  gpu.behave(whole());
  const bench = await home();
  const request = http.request(bench.url + PATH, {
    method: 'POST',
    agent: false,
    headers: { 'content-length': '1000' },
  });
  request.on('error', () => {});
  request.write('{"model":');
  await new Promise<void>((resolve) =>
    request.once('socket', (socket) => socket.once('connect', () => resolve())),
  );
  request.destroy();
  const next = await post(bench.url + PATH, { model: 'chat' }).reply;
  assert.equal(await next.end, 'whole');
  assert.equal(bench.tickets.length, 1);
});

test('large bodies share a bounded room; a request that ends gives its part back', async () => {
  gpu.behave(whole());
  const bench = await home({ settings: { bodyLimit: 200_000 }, onArrival: () => ({ do: 'wait' }) });
  const body = JSON.stringify({ model: 'chat', x: 'y'.repeat(190_000) });
  const held = Array.from({ length: 8 }, () => post(bench.url + PATH, body));
  for (let i = 0; i < held.length; i += 1) await bench.ticket(i);
  const refused = await ask(bench.url + PATH, body);
  assert.equal(refused.status, 503);
  assert.equal(errorOf(refused.text()).code, 'capacity');
  assert.equal(refused.headers['retry-after'], '5');
  const small = post(bench.url + PATH, { model: 'chat' });
  (await bench.ticket(8)).obey({ do: 'grant', instance: 0 });
  assert.equal((await small.reply).status, 200);
  held[0]?.leave();
  await bench.ended(1);
  const next = post(bench.url + PATH, body);
  (await bench.ticket(9)).obey({ do: 'grant', instance: 0 });
  assert.equal((await next.reply).status, 200);
  for (const sent of held) sent.leave();
});

test('a body of which nothing more comes is given up with a word; one that comes slowly is not', async () => {
  gpu.behave(whole());
  const clock = manualClock();
  const bench = await home({ clock, settings: { bodyLimit: 200_000 } });
  const body = JSON.stringify({ model: 'chat', x: 'y'.repeat(190_000) });
  const request = http.request(bench.url + PATH, {
    method: 'POST',
    agent: false,
    headers: { 'content-length': String(body.length) },
  });
  const replied = once(request, 'response');
  const piece = async (from: number) => {
    const taken = bench.bodyBytes(from + 10_000);
    request.write(body.slice(from, from + 10_000));
    await taken;
  };
  for (let from = 0; from < 100_000; from += 10_000) {
    await piece(from);
    clock.advance(29_999);
  }
  clock.advance(1);
  const [response] = (await replied) as [http.IncomingMessage];
  const chunks = await response.toArray();
  assert.equal(response.statusCode, 408);
  const error = errorOf(Buffer.concat(chunks).toString());
  assert.equal(error.code, 'request_timeout');
  assert.match(error.message, /for 30 s; 100000 bytes were there/);
  assert.equal(bench.tickets.length, 0);
  request.destroy();
});
