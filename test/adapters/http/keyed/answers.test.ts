/** One answer for one idempotency key, over real sockets. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ManualClock, manualClock } from '../../../support/clock.ts';
import {
  CHAT_STREAM,
  chat,
  failing,
  fakeLlama,
  resetAtOnce,
  silent,
  stream,
  WHOLE,
  whole,
} from '../../../support/fake-llama.ts';
import { type Bench, type BenchOptions, forwardBench } from '../../../support/forward-bench.ts';
import { ask, post } from '../../../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const STREAMED = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const SIMPLE = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
const GRACE_MS = 60_000;
const KEPT_MS = 600_000;
const gpu = await fakeLlama(silent);
const benches: Bench[] = [];

after(async () => {
  for (const bench of benches) await bench.close();
  await gpu.close();
});

async function home(options: Partial<BenchOptions> = {}): Promise<{ bench: Bench; clock: ManualClock }> {
  const clock = manualClock();
  const settings = { stallMs: 3_600_000 };
  const bench = await forwardBench({ ports: [gpu.port], clock, settings, ...options });
  benches.push(bench);
  return { bench, clock };
}

const key = (text: string, id?: string) => ({
  'Idempotency-Key': text,
  ...(id === undefined ? {} : { 'X-Request-Id': id }),
});
const errorOf = (text: string) => JSON.parse(text).error;
const lastEvent = (text: string) => text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? '';

test('the same request again gets the same answer, and no instance hears of it', async () => {
  gpu.behave(whole());
  const { bench } = await home();
  const first = await ask(bench.url + PATH, SIMPLE, key('k', 'first'));
  const again = await ask(bench.url + PATH, SIMPLE, key('k', 'second'));
  const unnamed = await ask(bench.url + PATH, SIMPLE, key('k'));
  for (const reply of [first, again, unnamed]) {
    assert.equal(reply.status, 200);
    assert.equal(reply.text(), WHOLE);
    assert.equal(reply.headers['content-length'], String(Buffer.byteLength(WHOLE)));
    assert.equal(reply.headers['llamastead-attempts'], '1');
  }
  assert.deepEqual(
    [first, again, unnamed].map(({ headers }) => [headers['x-request-id'], headers['llamastead-joined']]),
    [
      ['first', undefined],
      ['second', 'first'],
      ['first', 'first'],
    ],
  );
  assert.equal(bench.tickets.length, 1);
});

test('a stream is joined from its beginning, then goes on for both, byte for byte', async () => {
  gpu.behave(stream([chat.role, chat.text('Guten')], 'hang'));
  const { bench } = await home();
  const n = gpu.arrivals.length;
  const first = await post(bench.url + PATH, STREAMED, key('s')).reply;
  await first.until('Guten');
  const second = await post(bench.url + PATH, STREAMED, key('s')).reply;
  await second.until('Guten');
  const arrival = await gpu.arrival(n);
  await arrival.write(chat.text(' Tag'));
  await Promise.all([first.until(' Tag'), second.until(' Tag')]);
  arrival.end(chat.finish + chat.done);
  assert.deepEqual(await Promise.all([first.end, second.end]), ['whole', 'whole']);
  const kept = await ask(bench.url + PATH, STREAMED, key('s'));
  for (const reply of [first, second, kept]) assert.equal(reply.text(), CHAT_STREAM.join(''));
  assert.equal(bench.tickets.length, 1);
  assert.equal(gpu.arrivals.length, n + 1);
  assert.deepEqual(bench.keyed, ['made', 'joined', 'kept']);
});

test('requests that come at once, before there is any answer, share it', async () => {
  gpu.behave(whole());
  const { bench } = await home({ onArrival: () => ({ do: 'wait' }) });
  const sent = Array.from({ length: 5 }, () => post(bench.url + PATH, SIMPLE, key('k')));
  await bench.received(sent.length - 1);
  bench.tickets[0]?.obey({ do: 'grant', instance: 0 });
  for (const { reply } of sent) {
    const got = await reply;
    await got.end;
    assert.equal(got.text(), WHOLE);
  }
  assert.equal(bench.tickets.length, 1);
});

test('another body under the key is refused in the form of the path, and the answer stays', async () => {
  gpu.behave(whole());
  const { bench } = await home();
  await ask(bench.url + PATH, SIMPLE, key('k'));
  const other = await ask(bench.url + PATH, { ...SIMPLE, temperature: 1 }, key('k'));
  assert.equal(other.status, 422);
  assert.equal(errorOf(other.text()).code, 'idempotency_mismatch');
  assert.match(errorOf(other.text()).message, /Idempotency-Key/);
  assert.equal(other.headers['x-should-retry'], 'false');
  assert.equal((await ask(bench.url + PATH, SIMPLE, key('k'))).text(), WHOLE);
  assert.equal(bench.tickets.length, 1);
  assert.deepEqual(bench.keyed, ['made', 'mismatch', 'kept']);
});

test('keys of other callers and paths are other keys', async () => {
  gpu.behave(whole());
  const { bench } = await home();
  const ada = { Authorization: 'Bearer ada' };
  const bob = { Authorization: 'Bearer bob' };
  await ask(bench.url + PATH, SIMPLE, key('k'));
  await ask(bench.url + PATH, { ...SIMPLE, n: 1 }, { ...key('k'), ...ada });
  await ask(bench.url + PATH, { ...SIMPLE, n: 2 }, { ...key('k'), ...bob });
  await ask(`${bench.url}/v1/completions`, { model: 'chat', prompt: 'hi' }, key('k'));
  assert.equal(bench.tickets.length, 4);
  await ask(bench.url + PATH, { ...SIMPLE, user: 'eve' }, key('k'));
  assert.equal(bench.tickets.length, 5);
  await ask(bench.url + PATH, { ...SIMPLE, n: 1 }, { ...key('k'), ...ada });
  assert.equal(bench.tickets.length, 5);
});

test('a key that is none names the header and what was expected', async () => {
  const { bench } = await home();
  for (const wrong of ['', 'x'.repeat(256), 'caf\u00e9', 'a\tb']) {
    const reply = await ask(bench.url + PATH, SIMPLE, key(wrong));
    assert.equal(reply.status, 400, wrong);
    assert.match(errorOf(reply.text()).message, /^Idempotency-Key must be 1 to 255 printable/);
  }
  gpu.behave(whole());
  assert.equal((await ask(bench.url + PATH, SIMPLE, key('x'.repeat(255)))).status, 200);
  assert.equal(bench.tickets.length, 1);
});

test('a client that lost its connection gets the whole answer by asking again', async () => {
  gpu.behave(stream([chat.role, chat.text('Guten')], 'hang'));
  const { bench, clock } = await home();
  const n = gpu.arrivals.length;
  const lost = await post(bench.url + PATH, STREAMED, key('s')).reply;
  await lost.until('Guten');
  lost.leave();
  await bench.closed(0);
  clock.advance(GRACE_MS - 1);
  const back = await post(bench.url + PATH, STREAMED, key('s')).reply;
  await back.until('Guten');
  clock.advance(GRACE_MS);
  const arrival = await gpu.arrival(n);
  arrival.end(chat.text(' Tag') + chat.finish + chat.done);
  await back.end;
  assert.equal(back.text(), CHAT_STREAM.join(''));
  assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
});

test('an answer that ends while its client is away waits for it', async () => {
  gpu.behave(silent);
  const { bench } = await home();
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, SIMPLE, key('k'));
  const arrival = await gpu.arrival(n);
  sent.leave();
  await bench.closed(0);
  arrival.head(200, {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(WHOLE)),
  });
  arrival.end(WHOLE);
  assert.deepEqual(await bench.outcome(0), { kind: 'completed' });
  const back = await ask(bench.url + PATH, SIMPLE, key('k'));
  assert.equal(back.text(), WHOLE);
  assert.equal(bench.tickets.length, 1);
});

for (const phase of ['waiting', 'running'] as const) {
  test(`without a client for the grace time a ${phase} request is given up, and the key is free`, async () => {
    gpu.behave(silent);
    const { bench, clock } = await home({
      onArrival: () => (phase === 'waiting' ? { do: 'wait' } : { do: 'grant', instance: 0 }),
    });
    const n = gpu.arrivals.length;
    const sent = post(bench.url + PATH, SIMPLE, key('k'));
    const lost = await bench.ticket(0);
    if (phase === 'running') await gpu.arrival(n);
    sent.leave();
    await bench.closed(0);
    clock.advance(GRACE_MS - 1);
    assert.equal(bench.requests.length, 0);
    clock.advance(1);
    assert.equal((await bench.ended(0)).outcome, 'client_gone');
    if (phase === 'waiting') assert.equal(lost.abandoned, true);
    else {
      await (await gpu.arrival(n)).closed;
      assert.deepEqual(lost.outcomes, [{ kind: 'client_gone', finished: false }]);
    }
    const next = post(bench.url + PATH, SIMPLE, key('k'));
    await bench.ticket(1);
    next.leave();
  });
}

test('a stream that a client had begun to read is not made again: its part and an error are the answer', async () => {
  gpu.behave(stream([chat.role, chat.tool('switch_on')], 'hang'));
  const { bench, clock } = await home();
  const lost = await post(bench.url + PATH, STREAMED, key('s', 'first')).reply;
  await lost.until('switch_on');
  lost.leave();
  await bench.closed(0);
  clock.advance(GRACE_MS);
  assert.deepEqual(await bench.outcome(0), { kind: 'client_gone', finished: false });
  const back = await ask(bench.url + PATH, STREAMED, key('s'));
  assert.ok(back.text().startsWith(chat.role + chat.tool('switch_on')));
  assert.equal(errorOf(lastEvent(back.text())).code, 'failed_after_output');
  assert.equal(errorOf(lastEvent(back.text())).request_id, 'first');
  assert.ok(!back.text().includes('[DONE]'));
  assert.equal(bench.tickets.length, 1);
});

for (const left of ['before', 'after'] as const) {
  test(`a client that left ${left} the controller is to end holds nothing up: its part and why are the answer`, async () => {
    gpu.behave(stream([chat.role, chat.text('Guten')], 'hang'));
    const { bench } = await home();
    const n = gpu.arrivals.length;
    const [lost, stays] = [
      await post(bench.url + PATH, STREAMED, key('lost')).reply,
      await post(bench.url + PATH, STREAMED, key('stays')).reply,
    ];
    await Promise.all([lost.until('Guten'), stays.until('Guten')]);
    if (left === 'after') bench.api.hurry();
    lost.leave();
    await bench.closed(0);
    if (left === 'before') bench.api.hurry();
    assert.deepEqual(await bench.outcome(0), { kind: 'client_gone', finished: false });
    assert.deepEqual(bench.tickets[0]?.outcomes.length, 1);
    const back = await ask(bench.url + PATH, STREAMED, key('lost'));
    assert.ok(back.text().startsWith(chat.role + chat.text('Guten')));
    assert.equal(errorOf(lastEvent(back.text())).code, 'failed_after_output');
    assert.match(errorOf(lastEvent(back.text())).message, /shutting down/);
    const arrival = await gpu.arrival(n + 1);
    await arrival.write(chat.text(' Tag'));
    await stays.until(' Tag');
    assert.deepEqual(bench.tickets[1]?.outcomes, [], 'who is heard goes on');
    stays.leave();
    await bench.closed(2);
  });
}

test('a whole answer that nobody takes when the controller is to end frees its key', async () => {
  gpu.behave(silent);
  const { bench } = await home();
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, SIMPLE, key('k'));
  await gpu.arrival(n);
  sent.leave();
  await bench.closed(0);
  assert.equal(bench.requests.length, 0);
  bench.api.hurry();
  assert.equal((await bench.ended(0)).outcome, 'client_gone');
  const next = post(bench.url + PATH, SIMPLE, key('k'));
  await bench.ticket(1);
  next.leave();
});

test('a tool call whose stream broke is not called again: the retry gets the same part and the same error', async () => {
  gpu.behave(stream([chat.role, chat.tool('switch_on')], 'reset'));
  const { bench } = await home({
    onFailure: () => ({
      do: 'refuse',
      refusal: { code: 'failed_after_output', message: 'the backend died', retryAfter: null },
    }),
  });
  const first = await ask(bench.url + PATH, STREAMED, key('s'));
  const again = await ask(bench.url + PATH, STREAMED, key('s'));
  assert.equal(errorOf(lastEvent(first.text())).code, 'failed_after_output');
  assert.equal(again.text(), first.text());
  assert.equal(bench.tickets.length, 1);
});

test('an error before any content is no answer: all that wait get it, and the next request tries again', async () => {
  for (const [body, clockBeat] of [
    [SIMPLE, false],
    [STREAMED, false],
    [STREAMED, true],
  ] as const) {
    const { bench, clock } = await home({ onArrival: () => ({ do: 'wait' }) });
    const sent = [post(bench.url + PATH, body, key('k')), post(bench.url + PATH, body, key('k'))];
    await bench.received(1);
    const ticket = await bench.ticket(0);
    // A stream whose head is sent fails by an event, after comments.
    if (clockBeat) clock.advance(10_000);
    if (clockBeat) await (await sent[0]?.reply)?.until('keepalive');
    ticket.obey({ do: 'refuse', refusal: { code: 'capacity', message: 'no room', retryAfter: 5 } });
    for (const { reply } of sent) {
      const got = await reply;
      await got.end;
      assert.equal(got.status, clockBeat ? 200 : 503);
      assert.match(got.text(), /"code":"capacity"/);
      if (!clockBeat) assert.equal(got.headers['retry-after'], '5');
    }
    const next = post(bench.url + PATH, body, key('k'));
    await bench.ticket(1);
    next.leave();
  }
});

test("an instance's own error is passed on and not kept", async () => {
  gpu.behave(failing(400, 'too long', 'exceed_context_size_error'));
  const { bench } = await home({ onFailure: () => ({ do: 'pass_on' }) });
  for (let i = 0; i < 2; i += 1) {
    const reply = await ask(bench.url + PATH, SIMPLE, key('k'));
    assert.equal(reply.status, 400);
  }
  assert.equal(bench.tickets.length, 2);
});

test('an attempt that fails before any content is replayed under the same key, once', async () => {
  gpu.behave(resetAtOnce);
  const { bench } = await home({
    onFailure(_ticket) {
      gpu.behave(stream(CHAT_STREAM));
      return { do: 'grant', instance: 0 };
    },
  });
  const first = await ask(bench.url + PATH, STREAMED, key('s'));
  const again = await ask(bench.url + PATH, STREAMED, key('s'));
  assert.equal(first.text(), CHAT_STREAM.join(''));
  assert.equal(again.text(), first.text());
  assert.equal(again.headers['llamastead-attempts'], '2');
});

test('an answer is kept for its time, then the key is free', async () => {
  gpu.behave(whole());
  const { bench, clock } = await home();
  await ask(bench.url + PATH, SIMPLE, key('k'));
  clock.advance(KEPT_MS - 1);
  await ask(bench.url + PATH, SIMPLE, key('k'));
  assert.equal(bench.tickets.length, 1);
  clock.advance(1);
  await ask(bench.url + PATH, SIMPLE, key('k'));
  assert.equal(bench.tickets.length, 2);
});

test('an answer over what is kept goes on for its client, and says so to everyone who comes later', async () => {
  const event = chat.text('x'.repeat(16_000));
  const half = Array.from({ length: 150 }, () => event);
  gpu.behave(stream([chat.role, ...half], 'hang'));
  const { bench } = await home();
  const n = gpu.arrivals.length;
  const first = await post(bench.url + PATH, STREAMED, key('s')).reply;
  const arrival = await gpu.arrival(n);
  const joined = await post(bench.url + PATH, STREAMED, key('s')).reply;
  for (const piece of half) await arrival.write(piece);
  const late = await askWhenGone(bench.url + PATH, STREAMED, key('s'));
  assert.equal(late.status, 410);
  assert.equal(errorOf(late.text()).code, 'idempotency_gone');
  assert.match(errorOf(late.text()).message, /larger than the 4 MiB/);
  assert.equal(late.headers['x-should-retry'], 'false');
  arrival.end(chat.finish + chat.done);
  assert.equal(await first.end, 'whole');
  assert.equal(first.text(), chat.role + event.repeat(300) + chat.finish + chat.done);
  await joined.end;
  assert.ok(joined.text() === first.text() || /"code":"idempotency_gone"/.test(lastEvent(joined.text())));
  assert.equal((await ask(bench.url + PATH, STREAMED, key('s'))).status, 410);
  assert.equal(bench.keyed.at(-1), 'gone');
  assert.equal(bench.tickets.length, 1);
});

/** Asks until the answer is too large to be joined. */
async function askWhenGone(url: string, body: unknown, headers: Record<string, string>) {
  for (;;) {
    const sent = post(url, body, headers);
    const reply = await sent.reply;
    if (reply.status !== 200) {
      await reply.end;
      return reply;
    }
    reply.leave();
    await reply.end;
  }
}

test('a slow client does not hold the generation up, and loses nothing', async () => {
  const event = chat.text('x'.repeat(16_000));
  const events = Array.from({ length: 200 }, () => event);
  gpu.behave(stream([chat.role, ...events, chat.finish, chat.done]));
  const { bench } = await home();
  const slow = await post(bench.url + PATH, STREAMED, key('s')).reply;
  slow.pause();
  assert.deepEqual(await bench.outcome(0), { kind: 'completed' });
  const quick = await ask(bench.url + PATH, STREAMED, key('s'));
  slow.resume();
  assert.equal(await slow.end, 'whole');
  assert.ok(slow.bytes().equals(quick.bytes()));
  assert.equal(
    quick.bytes().length,
    Buffer.byteLength(chat.role + event.repeat(200) + chat.finish + chat.done),
  );
});

test("each path's own end mark makes an answer complete, its own error event does not", async () => {
  const began = 'event: content_block_delta\ndata: {"d":1}\n\n';
  const stop = 'event: message_delta\ndata: {}\n\nevent: message_stop\ndata: {}\n\n';
  gpu.behave(stream([began, stop]));
  const { bench } = await home();
  const url = `${bench.url}/v1/messages`;
  const first = await ask(url, STREAMED, key('m'));
  assert.equal(first.text(), began + stop);
  assert.equal((await ask(url, STREAMED, key('m'))).text(), began + stop);
  assert.equal(bench.tickets.length, 1);
  const other = await ask(url, SIMPLE, key('m'));
  assert.equal(JSON.parse(other.text()).type, 'error');
});
