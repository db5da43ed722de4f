import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import type { Outcome } from '../../../../app/core/request.ts';
import {
  failing,
  fakeLlama,
  JSON_HEAD,
  resetAtOnce,
  silent,
  WHOLE,
  whole,
} from '../../../support/fake-llama.ts';
import { type Bench, type BenchOptions, forwardBench } from '../../../support/forward-bench.ts';
import { ask, post } from '../../../support/raw-client.ts';

const CHAT = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
const gpu = await fakeLlama(whole());
const cpu = await fakeLlama(whole());
const benches: Bench[] = [];

after(async () => {
  for (const bench of benches) await bench.close();
  await gpu.close();
  await cpu.close();
});

async function home(options: Partial<BenchOptions> = {}): Promise<Bench> {
  const bench = await forwardBench({ ports: [gpu.port, cpu.port], ...options });
  benches.push(bench);
  return bench;
}

/** Fails over to the second instance. */
const overToCpu: Partial<BenchOptions> = {
  onFailure: (ticket) =>
    ticket.outcomes.length < 2
      ? { do: 'grant', instance: 1 }
      : { do: 'refuse', refusal: { code: 'backend_failed', message: 'twice', retryAfter: null } },
};

function failure(outcome: Outcome | undefined) {
  assert.equal(outcome?.kind, 'failed');
  return outcome?.kind === 'failed' ? outcome : undefined;
}

test('a whole answer arrives byte for byte, with the headers of the contract and without those of the instance', async () => {
  gpu.behave(whole());
  const bench = await home();
  const reply = await ask(`${bench.url}/v1/chat/completions`, CHAT, { 'X-Request-Id': 'mine-1' });
  assert.equal(reply.status, 200);
  assert.equal(reply.text(), WHOLE);
  assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(reply.headers['content-length'], String(Buffer.byteLength(WHOLE)));
  assert.equal(reply.headers['x-request-id'], 'mine-1');
  assert.equal(reply.headers['llamastead-model'], 'chat');
  assert.equal(reply.headers['llamastead-placement'], 'gpu');
  assert.equal(reply.headers['llamastead-attempts'], '1');
  assert.equal(reply.headers['llamastead-queued-ms'], '0');
  assert.match(String(reply.headers['server-timing']), /^queue;dur=0, backend;dur=[\d.]+$/);
  assert.equal(reply.headers['server'], undefined);
  assert.equal(reply.headers['access-control-allow-origin'], undefined);
  assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
  const [attempt] = bench.attempts;
  assert.deepEqual(attempt, {
    model: 'chat',
    placement: 'gpu',
    firstTokenMs: null,
    promptTokens: 40,
    promptMs: 20.5,
    tokens: 20,
    tokensMs: 100.25,
  });
});

test('the request reaches the instance byte for byte, with its key and nothing of the client', async () => {
  gpu.behave(whole());
  const bench = await home({ key: 'k-123' });
  const n = gpu.arrivals.length;
  const body = '{ "messages":[{"role":"user","content":"안녕 😀"}],\n"model":"chat" }';
  await ask(`${bench.url}/v1/chat/completions?x=1`, body, {
    Authorization: 'Bearer client-secret',
    'X-Api-Key': 'client-secret',
    'X-Conversation-Id': 'c-1',
    Cookie: 'a=b',
    'Accept-Encoding': 'gzip',
    Connection: 'keep-alive, x-mine',
    'X-Mine': '1',
  });
  const arrival = await gpu.arrival(n);
  assert.equal(arrival.body, body);
  assert.equal(arrival.path, '/v1/chat/completions');
  const { host, connection, ...headers } = arrival.headers;
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    authorization: 'Bearer k-123',
  });
});

test('an answer to an alias carries the alias', async () => {
  gpu.behave(whole());
  const bench = await home();
  const reply = await ask(`${bench.url}/v1/chat/completions`, { ...CHAT, model: 'gpt-4o-mini' });
  assert.equal(JSON.parse(reply.text()).model, 'gpt-4o-mini');
  assert.equal(reply.headers['llamastead-model'], 'chat');
  assert.match(reply.text(), /Guten Tag \\"model\\":\\"chat\\"/);
});

test('what the gate is told of a request', async () => {
  gpu.behave(whole());
  const bench = await home();
  await ask(
    `${bench.url}/v1/embeddings`,
    { input: 'x', stream: true },
    {
      'Llamastead-Replay': 'never',
      'Llamastead-Deadline': '60s',
      'X-Request-Id': 'e-1',
    },
  );
  const { id, ...request } = bench.tickets[0]?.request ?? { id: 0 };
  assert.deepEqual(request, {
    externalId: 'e-1',
    model: null,
    path: '/v1/embeddings',
    stream: true,
    neverReplay: true,
    drill: false,
    deadlineMs: 60_000,
    client: 'address 127.0.0.1',
    background: false,
    promptBytes: null,
  });
});

const FAILURES: readonly {
  readonly name: string;
  readonly behaviour: Parameters<typeof gpu.behave>[0];
  readonly failure: object;
}[] = [
  { name: 'a reset before a byte', behaviour: resetAtOnce, failure: { kind: 'reset', reused: false } },
  {
    name: 'an end before a byte',
    behaviour: ({ hangUp }) => hangUp(),
    failure: { kind: 'reset', reused: false },
  },
  {
    name: 'a reset in the middle',
    behaviour: async ({ head, write, reset }) => {
      head(200, { ...JSON_HEAD, 'Content-Length': '1000' });
      await write('{"choices":');
      reset();
    },
    failure: { kind: 'reset', reused: false },
  },
  {
    name: 'an end in the middle of chunks',
    behaviour: async ({ head, write, hangUp }) => {
      head(200, JSON_HEAD);
      await write('{"choices":');
      hangUp();
    },
    failure: { kind: 'reset', reused: false },
  },
  { name: '503 Loading model', behaviour: failing(503, 'Loading model'), failure: { kind: 'loading' } },
  {
    name: '500 Compute error',
    behaviour: failing(500, 'Compute error.'),
    failure: { kind: 'http', status: 500, message: 'Compute error.' },
  },
  {
    name: '401 of the instance',
    behaviour: failing(401, 'Invalid API Key'),
    failure: { kind: 'http', status: 401, message: 'Invalid API Key' },
  },
  {
    name: 'an error that is not JSON',
    behaviour: whole('gateway trouble', 504),
    failure: { kind: 'http', status: 504, message: 'gateway trouble' },
  },
];

for (const { name, behaviour, failure: expected } of FAILURES) {
  test(`${name} is told as such, and the second instance answers with the same bytes and id`, async () => {
    gpu.behave(behaviour);
    cpu.behave(whole());
    const bench = await home(overToCpu);
    const n = cpu.arrivals.length;
    const reply = await ask(`${bench.url}/v1/chat/completions`, CHAT, { 'X-Request-Id': 'same' });
    assert.equal(reply.text(), WHOLE);
    assert.equal(reply.headers['llamastead-placement'], 'cpu');
    assert.equal(reply.headers['llamastead-attempts'], '2');
    assert.equal(reply.headers['x-request-id'], 'same');
    assert.equal(cpu.arrivals[n]?.body, JSON.stringify(CHAT));
    const [first, second] = bench.tickets[0]?.outcomes ?? [];
    assert.deepEqual(failure(first)?.failure, expected);
    assert.equal(failure(first)?.forwarded, 'nothing');
    assert.deepEqual(second, { kind: 'completed' });
    // One that still loads did not have it.
    const counted =
      'kind' in expected && expected.kind === 'loading' ? [] : [{ model: 'chat', placement: 'gpu' }];
    assert.deepEqual(bench.failedAttempts, counted);
    assert.equal(bench.attempts.length, 1);
  });
}

test('a port where nobody listens is refused, and so is an instance that is gone', async () => {
  const dead = await fakeLlama(silent);
  await dead.close();
  for (const ports of [[dead.port, cpu.port], [cpu.port]] as const) {
    cpu.behave(whole());
    const bench = await home({
      ports,
      onArrival: () => ({ do: 'grant', instance: ports.length === 2 ? 0 : 7 }),
      onFailure: () => ({ do: 'grant', instance: ports.length - 1 }),
    });
    const reply = await ask(`${bench.url}/v1/chat/completions`, CHAT);
    assert.equal(reply.text(), WHOLE);
    assert.deepEqual(failure(bench.tickets[0]?.outcomes[0])?.failure, { kind: 'refused' });
  }
});

test('a stale kept connection is told as reused, and a new connection answers', async () => {
  const bench = await home({ onFailure: () => ({ do: 'grant', instance: 0, fresh: true }) });
  gpu.behave(whole());
  await ask(`${bench.url}/v1/chat/completions`, CHAT);
  let first = true;
  gpu.behave((arrival) => {
    if (first) arrival.reset();
    else void whole()(arrival);
    first = false;
  });
  const n = gpu.arrivals.length;
  const reply = await ask(`${bench.url}/v1/chat/completions`, CHAT);
  assert.equal(reply.text(), WHOLE);
  assert.deepEqual(failure(bench.tickets[1]?.outcomes[0])?.failure, { kind: 'reset', reused: true });
  assert.equal(gpu.arrivals[n]?.connection, gpu.arrivals[n - 1]?.connection);
  assert.notEqual(gpu.arrivals[n + 1]?.connection, gpu.arrivals[n]?.connection);
});

test('whole answers share a connection', async () => {
  gpu.behave(whole());
  const bench = await home();
  const n = gpu.arrivals.length;
  for (let i = 0; i < 5; i += 1) await ask(`${bench.url}/v1/chat/completions`, CHAT);
  const used = new Set(gpu.arrivals.slice(n).map(({ connection }) => connection));
  assert.equal(used.size, 1);
});

test('closing the connections of an instance ends its attempts as a reset that is not stale', async () => {
  gpu.behave(whole());
  const bench = await home(overToCpu);
  await ask(`${bench.url}/v1/chat/completions`, CHAT);
  gpu.behave(silent);
  cpu.behave(whole());
  const n = gpu.arrivals.length;
  const sent = post(`${bench.url}/v1/chat/completions`, CHAT);
  const arrival = await gpu.arrival(n);
  bench.api.closeConnections('0');
  const reply = await sent.reply;
  await reply.end;
  await arrival.closed;
  assert.equal(reply.text(), WHOLE);
  assert.deepEqual(failure(bench.tickets[1]?.outcomes[0])?.failure, { kind: 'reset', reused: false });
});

test("an instance's own error passes on unchanged when the gate says so", async () => {
  const body =
    '{"error":{"code":400,"message":"the request exceeds the context","type":"exceed_context_size_error","n_ctx":512}}';
  gpu.behave(whole(body, 400));
  const bench = await home({ onFailure: () => ({ do: 'pass_on' }) });
  const reply = await ask(`${bench.url}/v1/chat/completions`, { ...CHAT, stream: true });
  assert.equal(reply.status, 400);
  assert.equal(reply.text(), body);
  assert.equal(reply.headers['llamastead-placement'], 'gpu');
});

test('an answer larger than is held counts as forwarded, and a break in it never looks whole', async () => {
  const large = Buffer.alloc(6 * 1024 * 1024, 'x');
  gpu.behave(whole(large));
  const bench = await home({
    onFailure: () => ({
      do: 'refuse',
      refusal: { code: 'failed_after_output', message: 'cut', retryAfter: null },
    }),
  });
  const good = await ask(`${bench.url}/v1/embeddings`, { input: 'x' });
  assert.equal(good.how, 'whole');
  assert.ok(good.bytes().equals(large));
  gpu.behave(({ head, write }) => {
    head(200, { ...JSON_HEAD, 'Content-Length': String(large.length) });
    return write(large.subarray(0, 5 * 1024 * 1024));
  });
  const n = gpu.arrivals.length;
  const broken = await post(`${bench.url}/v1/embeddings`, { input: 'x' }).reply;
  gpu.arrivals[n]?.reset();
  assert.equal(await broken.end, 'cut');
  assert.equal(failure(bench.tickets[1]?.outcomes[0])?.forwarded, 'more');
});

test('a client that leaves frees the instance at once; before the grant it is abandoned', async () => {
  gpu.behave(silent);
  const bench = await home();
  const n = gpu.arrivals.length;
  const sent = post(`${bench.url}/v1/chat/completions`, CHAT);
  const arrival = await gpu.arrival(n);
  sent.leave();
  await arrival.closed;
  assert.deepEqual(await bench.outcome(0), { kind: 'client_gone', finished: false });
  assert.equal((await bench.ended(0)).outcome, 'client_gone');

  const waiting = await home({ onArrival: () => ({ do: 'wait' }) });
  const queued = post(`${waiting.url}/v1/chat/completions`, CHAT);
  const ticket = await waiting.ticket(0);
  queued.leave();
  await waiting.ended(0);
  assert.equal(ticket.abandoned, true);
  assert.deepEqual(ticket.outcomes, []);
});

test('a grant that comes when the client is gone goes back at once', async () => {
  const bench = await home({ onArrival: () => ({ do: 'wait' }) });
  const sent = post(`${bench.url}/v1/chat/completions`, CHAT);
  const ticket = await bench.ticket(0);
  sent.leave();
  await bench.ended(0);
  const n = gpu.arrivals.length;
  ticket.obey({ do: 'grant', instance: 0 });
  assert.equal(gpu.arrivals.length, n);
});

test('requests of one client connection are answered one after the other', async () => {
  gpu.behave(whole());
  const bench = await home();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 3; i += 1) {
    const reply = await post(`${bench.url}/v1/chat/completions`, CHAT, {}, agent).reply;
    assert.equal(await reply.end, 'whole');
    assert.equal(reply.text(), WHOLE);
  }
  agent.destroy();
  assert.equal(bench.requests.length, 3);
});
