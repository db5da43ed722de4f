/** Deadlines and comments, on a clock that the test moves. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type WatchedClock, watchedClock } from '../../../support/clock.ts';
import {
  type Arrival,
  CHAT_STREAM,
  chat,
  continuing,
  failing,
  fakeLlama,
  resetAtOnce,
  SSE_HEAD,
  silent,
  stream,
  whole,
} from '../../../support/fake-llama.ts';
import { type Bench, type BenchOptions, forwardBench, type Verdict } from '../../../support/forward-bench.ts';
import { ask, post } from '../../../support/raw-client.ts';

const CHAT = { model: 'chat', stream: true, messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
const gpu = await fakeLlama(silent);
const cpu = await fakeLlama(silent);
const benches: Bench[] = [];

after(async () => {
  for (const bench of benches) await bench.close();
  await gpu.close();
  await cpu.close();
});

async function home(options: Partial<BenchOptions> = {}) {
  const clock = watchedClock();
  const bench = await forwardBench({ ports: [gpu.port, cpu.port], clock, ...options });
  benches.push(bench);
  return { bench, clock };
}

/** Sends bytes from the instance and waits until the edge has taken them. */
async function deliver(arrival: Arrival, clock: WatchedClock, bytes: string): Promise<void> {
  const read = clock.nextRead();
  await arrival.write(bytes);
  await read;
}

const toCpu: Verdict = { do: 'grant', instance: 1, reason: 'hang' };
const tooLate: Verdict = {
  do: 'refuse',
  refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null },
};
const failed = (kind: string, forwarded: string) => ({ kind: 'failed', failure: { kind }, forwarded });

test('an instance that never answers misses the first-token deadline and is given up at once', async () => {
  gpu.behave(silent);
  cpu.behave(stream(CHAT_STREAM));
  const { bench, clock } = await home({ settings: { firstToken: 5000 }, onFailure: () => toCpu });
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, CHAT);
  const arrival = await gpu.arrival(n);
  clock.advance(4999);
  assert.equal(bench.tickets[0]?.outcomes.length, 0);
  clock.advance(1);
  await arrival.closed;
  const reply = await sent.reply;
  await reply.end;
  assert.equal(reply.text(), CHAT_STREAM.join(''));
  assert.deepEqual(bench.tickets[0]?.outcomes[0], failed('first_token_deadline', 'nothing'));
});

test('a head and a role are no first token; progress re-arms the deadline', async () => {
  gpu.behave(stream([chat.role], 'hang'));
  const settings = { firstToken: 5000, keepaliveMs: 60_000 };
  const { bench, clock } = await home({ settings, onFailure: () => tooLate });
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, CHAT);
  const arrival = await gpu.arrival(n);
  for (let i = 1; i <= 5; i += 1) {
    clock.advance(4000);
    await deliver(arrival, clock, chat.progress(i * 100, 1000));
  }
  assert.equal(bench.tickets[0]?.outcomes.length, 0);
  clock.advance(5000);
  assert.deepEqual(bench.tickets[0]?.outcomes, [failed('first_token_deadline', 'nothing')]);
  const reply = await sent.reply;
  await reply.end;
  assert.equal(reply.status, 502);
});

test('on the CPU only the deadline of the client itself ends a silence, and nobody is blamed for it', async () => {
  cpu.behave(silent);
  const refusal = { code: 'deadline', message: 'too late', retryAfter: null } as const;
  const { bench, clock } = await home({
    onArrival: () => ({ do: 'grant', instance: 1 }),
    onDeadline: () => ({ do: 'refuse', refusal }),
  });
  const n = cpu.arrivals.length;
  const patient = post(bench.url + PATH, { ...CHAT, stream: false });
  await cpu.arrival(n);
  const hurried = post(bench.url + PATH, { ...CHAT, stream: false }, { 'Llamastead-Deadline': '2h' });
  const arrival = await cpu.arrival(n + 1);
  clock.advance(2 * 3_600_000);
  await arrival.closed;
  const reply = await hurried.reply;
  await reply.end;
  assert.equal(reply.status, 504);
  assert.equal(JSON.parse(reply.text()).error.code, 'deadline');
  assert.deepEqual(bench.tickets[1]?.outcomes, [{ kind: 'deadline' }]);
  assert.equal((await bench.ended(0)).outcome, 'deadline');
  assert.deepEqual(bench.tickets[0]?.outcomes, []);
  patient.leave();
});

test('content that stops is a stall, counted from the last byte', async () => {
  gpu.behave(stream([chat.role, chat.text('a')], 'hang'));
  const { bench, clock } = await home({ settings: { stallMs: 1000 }, onFailure: () => tooLate });
  const n = gpu.arrivals.length;
  const reply = await post(bench.url + PATH, CHAT).reply;
  await reply.until('"content":"a"');
  const arrival = await gpu.arrival(n);
  for (let i = 0; i < 3; i += 1) {
    clock.advance(900);
    await deliver(arrival, clock, chat.text(`b${i}`));
  }
  clock.advance(999);
  assert.equal(bench.tickets[0]?.outcomes.length, 0);
  clock.advance(1);
  assert.deepEqual(bench.tickets[0]?.outcomes, [failed('stall', 'content')]);
  await arrival.closed;
  await reply.end;
  assert.match(reply.text(), /failed_after_output/);
});

test('a ping within the content is a sign of life and no content: it hides no stall', async () => {
  gpu.behave(stream([chat.role, chat.text('a')], 'hang'));
  const { bench, clock } = await home({ settings: { stallMs: 1000 }, onFailure: () => tooLate });
  const n = gpu.arrivals.length;
  const reply = await post(bench.url + PATH, CHAT).reply;
  await reply.until('"content":"a"');
  clock.advance(900);
  await deliver(await gpu.arrival(n), clock, ':\n\n');
  clock.advance(99);
  assert.deepEqual(bench.tickets[0]?.outcomes, []);
  clock.advance(1);
  assert.deepEqual(bench.tickets[0]?.outcomes, [failed('stall', 'content')]);
  await reply.end;
});

test('content may pause while the prompt of another request is read, and for as long as a stall after it', async () => {
  gpu.behave(stream([chat.role, chat.text('a')], 'hang'));
  const { bench, clock } = await home({ settings: { stallMs: 1000 }, onFailure: () => tooLate });
  const n = gpu.arrivals.length;
  const reply = await post(bench.url + PATH, CHAT).reply;
  await reply.until('"content":"a"');
  gpu.behave(silent);
  const other = post(bench.url + PATH, CHAT);
  await gpu.arrival(n + 1);
  clock.advance(10_500);
  assert.deepEqual(bench.tickets[0]?.outcomes, []);
  other.leave();
  await bench.ended(0);
  clock.advance(499);
  assert.deepEqual(bench.tickets[0]?.outcomes, []);
  clock.advance(1);
  assert.deepEqual(bench.tickets[0]?.outcomes, [failed('stall', 'content')]);
  await reply.end;
});

test('a stream that waits long gets its head and comments, and later failures come in the stream', async () => {
  gpu.behave(resetAtOnce);
  cpu.behave(stream(CHAT_STREAM));
  const { bench, clock } = await home({
    onArrival: () => ({ do: 'wait' }),
    onFailure: () => ({ do: 'grant', instance: 1, reason: 'out of memory' }),
  });
  const sent = post(bench.url + PATH, CHAT, { 'X-Request-Id': 'w-1' });
  const ticket = await bench.ticket(0);
  clock.advance(10_000);
  const reply = await sent.reply;
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['x-request-id'], 'w-1');
  await reply.until(': keepalive\n\n');
  clock.advance(10_000);
  ticket.obey({ do: 'grant', instance: 0 });
  await reply.end;
  const comment = ': llamastead attempt=2 placement=cpu reason=out_of_memory\n\n';
  assert.equal(reply.text(), ': keepalive\n\n'.repeat(2) + comment + CHAT_STREAM.join(''));
  clock.advance(60_000);
});

test('a head that named an instance which never had the request is put right, each time', async () => {
  const loading = failing(503, 'Loading model');
  const refusals = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const { bench, clock } = await home({
    onFailure: ({ outcomes }) => {
      refusals[outcomes.length - 1]?.resolve();
      return { do: 'wait' };
    },
  });
  gpu.behave(loading);
  cpu.behave(loading);
  const sent = post(bench.url + PATH, CHAT);
  const ticket = await bench.ticket(0);
  await refusals[0]?.promise;
  clock.advance(10_000);
  const reply = await sent.reply;
  assert.equal(reply.headers['llamastead-placement'], 'gpu');
  // What was not processed counts as no attempt.
  ticket.obey({ do: 'grant', instance: 1, fresh: true });
  await refusals[1]?.promise;
  ticket.obey({ do: 'grant', instance: 1, fresh: true });
  await refusals[2]?.promise;
  gpu.behave(stream(CHAT_STREAM));
  ticket.obey({ do: 'grant', instance: 0, fresh: true });
  await reply.end;
  const comments = ['cpu', 'gpu'].map((placement) => `: llamastead attempt=1 placement=${placement}\n\n`);
  assert.equal(reply.text(), `: keepalive\n\n${comments.join('')}${CHAT_STREAM.join('')}`);
});

test('a head that named the second attempt is not told again where that is granted again', async () => {
  const failures = [0, 1].map(() => Promise.withResolvers<void>());
  const { bench, clock } = await home({
    onFailure: ({ outcomes }) => {
      failures[outcomes.length - 1]?.resolve();
      return outcomes.length === 1 ? { do: 'grant', instance: 1, reason: 'compute_error' } : { do: 'wait' };
    },
  });
  gpu.behave(failing(500, 'Compute error.'));
  cpu.behave(failing(503, 'Loading model'));
  const sent = post(bench.url + PATH, CHAT);
  const ticket = await bench.ticket(0);
  await failures[1]?.promise;
  clock.advance(10_000);
  const reply = await sent.reply;
  assert.equal(reply.headers['llamastead-placement'], 'cpu');
  assert.equal(reply.headers['llamastead-attempts'], '2');
  cpu.behave(stream(CHAT_STREAM));
  ticket.obey({ do: 'grant', instance: 1, fresh: true, reason: 'compute_error' });
  await reply.end;
  assert.equal(reply.text(), `: keepalive\n\n${CHAT_STREAM.join('')}`);
});

test('a stream whose instance answered with an error goes on telling that it waits', async () => {
  for (const behaviour of [failing(503, 'Loading model'), failing(500, 'Compute error.')]) {
    gpu.behave(behaviour);
    cpu.behave(stream(CHAT_STREAM));
    const failed = Promise.withResolvers<void>();
    const { bench, clock } = await home({
      onFailure: () => {
        failed.resolve();
        return { do: 'wait' };
      },
    });
    const sent = post(bench.url + PATH, CHAT);
    const ticket = await bench.ticket(0);
    await failed.promise;
    clock.advance(10_000);
    const reply = await sent.reply;
    await reply.until(': keepalive\n\n');
    ticket.obey({ do: 'grant', instance: 1 });
    await reply.end;
    assert.match(reply.text(), /\[DONE\]/);
  }
});

test('a refusal and an error of the instance come as events when the head is sent', async () => {
  for (const [verdict, code] of [
    [{ do: 'refuse', refusal: { code: 'capacity', message: 'no room', retryAfter: 5 } }, 'capacity'],
    [{ do: 'grant', instance: 0 }, 400],
  ] as const) {
    gpu.behave(failing(400, 'too long', 'exceed_context_size_error'));
    const { bench, clock } = await home({
      onArrival: () => ({ do: 'wait' }),
      onFailure: () => ({ do: 'pass_on' }),
    });
    const sent = post(bench.url + PATH, CHAT);
    const ticket = await bench.ticket(0);
    clock.advance(10_000);
    const reply = await sent.reply;
    ticket.obey(verdict);
    await reply.end;
    const event = reply.text().replace(': keepalive\n\ndata: ', '');
    assert.equal(JSON.parse(event).error.code, code);
  }
});

test('a whole answer gets no early head', async () => {
  gpu.behave(whole());
  const { bench, clock } = await home({ onArrival: () => ({ do: 'wait' }) });
  const sent = post(bench.url + PATH, { ...CHAT, stream: false });
  const ticket = await bench.ticket(0);
  clock.advance(60_000);
  ticket.obey({ do: 'grant', instance: 0 });
  const reply = await sent.reply;
  await reply.end;
  assert.equal(reply.status, 200);
});

test('half of the time to the first content is told once, while there is none', async () => {
  gpu.behave(silent);
  const { bench, clock } = await home({ settings: { firstToken: 5000 }, onFailure: () => tooLate });
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, CHAT);
  const arrival = await gpu.arrival(n);
  const ticket = await bench.ticket(0);
  clock.advance(2_499);
  assert.equal(ticket.slow, 0);
  clock.advance(1);
  assert.equal(ticket.slow, 1);
  clock.advance(2_499);
  assert.deepEqual(ticket.outcomes, []);
  clock.advance(1);
  assert.equal(ticket.slow, 1);
  assert.deepEqual(ticket.outcomes, [failed('first_token_deadline', 'nothing')]);
  arrival.hangUp();
  await (await sent.reply).end;
});

test('learned speeds shorten the deadline of the next request', async () => {
  gpu.behave(stream(CHAT_STREAM));
  const { bench, clock } = await home({ onFailure: () => tooLate });
  await ask(bench.url + PATH, CHAT);
  gpu.behave(silent);
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, CHAT);
  await gpu.arrival(n);
  clock.advance(29_999);
  assert.equal(bench.tickets[1]?.outcomes.length, 0);
  clock.advance(1);
  assert.deepEqual(bench.tickets[1]?.outcomes, [failed('first_token_deadline', 'nothing')]);
  await (await sent.reply).end;
});

test('a prompt that other ones come before has their time too, until they are read', async () => {
  gpu.behave(stream(CHAT_STREAM));
  const { bench, clock } = await home({ settings: { keepaliveMs: 1e9 }, onFailure: () => tooLate });
  await ask(bench.url + PATH, CHAT);
  gpu.behave(silent);
  const n = gpu.arrivals.length;
  const large = { ...CHAT, messages: [{ role: 'user', content: 'long '.repeat(60_000) }] };
  const first = post(bench.url + PATH, large);
  const reading = await gpu.arrival(n);
  const second = post(bench.url + PATH, CHAT);
  await gpu.arrival(n + 1);
  clock.advance(30_000);
  assert.deepEqual(bench.tickets[2]?.outcomes, [], 'it waits for the long one');
  reading.head(200, SSE_HEAD);
  await deliver(reading, clock, chat.role + chat.text('a'));
  second.leave();
  await bench.ended(1);
  const third = post(bench.url + PATH, CHAT);
  await gpu.arrival(n + 2);
  clock.advance(29_999);
  assert.deepEqual(bench.tickets[3]?.outcomes, []);
  clock.advance(1);
  assert.deepEqual(bench.tickets[3]?.outcomes, [failed('first_token_deadline', 'nothing')]);
  await (await third.reply).end;
  first.leave();
});

test('a text that goes on is such a prompt as well', async () => {
  gpu.behave(stream(CHAT_STREAM));
  const { bench, clock } = await home({
    settings: { keepaliveMs: 1e9 },
    onArrival: ({ request }) => ({ do: 'grant', instance: (request.promptBytes ?? 0) > 1000 ? 1 : 0 }),
    onFailure: (_, { forwarded }) =>
      forwarded === 'content' ? { do: 'grant', instance: 0, reason: 'reset' } : tooLate,
  });
  await ask(bench.url + PATH, CHAT);
  gpu.behave(continuing(silent));
  cpu.behave(stream([chat.role, chat.text('a')], 'reset'));
  const n = gpu.arrivals.length;
  const large = { ...CHAT, messages: [{ role: 'user', content: 'long '.repeat(60_000) }] };
  const first = post(bench.url + PATH, large);
  assert.equal((await gpu.arrival(n + 4)).path, PATH);
  const second = post(bench.url + PATH, CHAT);
  await gpu.arrival(n + 5);
  clock.advance(30_000);
  assert.deepEqual(bench.tickets[2]?.outcomes, [], 'it waits for the text that goes on');
  second.leave();
  first.leave();
});

for (const [what, behaviour] of [
  ['a whole answer', whole()],
  ['an answer without a byte', whole('')],
  ['a stream without an event', stream([])],
  ['a stream without content or end mark', stream([chat.role])],
] as const) {
  test(`${what} after the head of a stream is a failure, and another instance answers in it`, async () => {
    gpu.behave(behaviour);
    cpu.behave(stream(CHAT_STREAM));
    const { bench, clock } = await home({ onArrival: () => ({ do: 'wait' }), onFailure: () => toCpu });
    const sent = post(bench.url + PATH, CHAT);
    const ticket = await bench.ticket(0);
    clock.advance(10_000);
    const reply = await sent.reply;
    ticket.obey({ do: 'grant', instance: 0 });
    assert.equal(await reply.end, 'whole');
    assert.deepEqual(bench.tickets[0]?.outcomes, [
      { kind: 'failed', failure: { kind: 'reset', reused: false }, forwarded: 'nothing' },
      { kind: 'completed' },
    ]);
    assert.match(reply.text(), /^: keepalive\n\n: llamastead attempt=2 .*\n\ndata: .*data: \[DONE\]\n\n$/s);
  });
}

test('a deadline and a beat that come due together end the request once', async () => {
  gpu.behave(silent);
  const { bench, clock } = await home({
    settings: { firstToken: 10_000, keepaliveMs: 10_000 },
    onFailure: () => tooLate,
  });
  const n = gpu.arrivals.length;
  const sent = post(bench.url + PATH, CHAT);
  await gpu.arrival(n);
  clock.advance(30_000);
  const reply = await sent.reply;
  assert.equal(await reply.end, 'whole');
  assert.match(reply.text(), /failed_after_output/);
  assert.equal(bench.requests.length, 1);
});
