import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Outcome } from '../../../../app/core/request.ts';
import {
  CHAT_STREAM,
  chat,
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

async function home(options: Partial<BenchOptions> = {}): Promise<Bench> {
  const bench = await forwardBench({ ports: [gpu.port, cpu.port], ...options });
  benches.push(bench);
  return bench;
}

const toCpu: Verdict = { do: 'grant', instance: 1, reason: 'out_of_memory' };
const tooLate: Verdict = {
  do: 'refuse',
  refusal: { code: 'failed_after_output', message: 'the backend died', retryAfter: null },
};

function failed(outcome: Outcome | undefined) {
  if (outcome?.kind !== 'failed') throw new Error(`not a failure: ${JSON.stringify(outcome)}`);
  return { ...outcome.failure, forwarded: outcome.forwarded };
}

/** The error object of the last event. */
function lastError(text: string): Record<string, unknown> {
  const event = text.trimEnd().split('\n\n').at(-1) ?? '';
  return JSON.parse(event.replace(/^(event: \w+\n)?data: /, '')).error;
}

test('a stream arrives byte for byte, and its measurements are taken from its last chunk', async () => {
  gpu.behave(stream(CHAT_STREAM));
  const bench = await home();
  const reply = await ask(bench.url + PATH, CHAT);
  assert.equal(reply.how, 'whole');
  assert.equal(reply.text(), CHAT_STREAM.join(''));
  assert.equal(reply.headers['content-type'], 'text/event-stream');
  assert.equal(reply.headers['llamastead-placement'], 'gpu');
  assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
  assert.equal(bench.attempts[0]?.tokens, 20);
  assert.equal(typeof bench.attempts[0]?.firstTokenMs, 'number');
});

test('characters and events that are split over segments arrive whole', async () => {
  const bytes = Buffer.from([chat.role, chat.text('안녕하세요 😀'), chat.finish, chat.done].join(''));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, i) =>
    bytes.subarray(i * 7, i * 7 + 7),
  );
  gpu.behave(stream(pieces));
  const bench = await home();
  const reply = await ask(bench.url + PATH, CHAT);
  assert.ok(reply.bytes().equals(bytes));
});

test('prompt progress is asked for and taken out again, unless the client asked itself', async () => {
  const progress = [chat.progress(0, 90), chat.progress(90, 90)];
  gpu.behave(stream([progress.join('') + chat.role, chat.text('x'), chat.finish, chat.done]));
  const bench = await home();
  let n = gpu.arrivals.length;
  const reply = await ask(bench.url + PATH, CHAT);
  assert.equal(reply.text(), [chat.role, chat.text('x'), chat.finish, chat.done].join(''));
  assert.equal(JSON.parse(gpu.arrivals[n]?.body ?? '').return_progress, true);
  n = gpu.arrivals.length;
  const asked = await ask(bench.url + PATH, { ...CHAT, return_progress: true });
  assert.match(asked.text(), /prompt_progress/);
  assert.equal(gpu.arrivals[n]?.body, JSON.stringify({ ...CHAT, return_progress: true }));
});

test('a server that announces keep-alive and closes after each stream gives no stale connection', async () => {
  gpu.behave(async (arrival) => {
    await stream(CHAT_STREAM)(arrival);
    setImmediate(arrival.hangUp);
  });
  const bench = await home();
  for (let i = 0; i < 30; i += 1) assert.equal((await ask(bench.url + PATH, CHAT)).how, 'whole');
  assert.equal(bench.attempts.length, 30);
  assert.ok(bench.tickets.every(({ outcomes }) => outcomes.length === 1));
});

test('the head waits for the first content: a failure before it is replayed unseen', async () => {
  for (const behaviour of [
    resetAtOnce,
    stream([chat.role], 'reset'),
    stream([chat.role], 'end'),
    stream([chat.role, chat.error]),
    stream([chat.role, chat.text('x').slice(0, -3)], 'reset'),
    failing(500, 'Compute error.'),
  ]) {
    gpu.behave(behaviour);
    cpu.behave(stream(CHAT_STREAM));
    const bench = await home({ onFailure: () => toCpu });
    const reply = await ask(bench.url + PATH, CHAT);
    assert.equal(reply.text(), CHAT_STREAM.join(''));
    assert.equal(reply.headers['llamastead-placement'], 'cpu');
    assert.equal(reply.headers['llamastead-attempts'], '2');
    assert.equal(failed(bench.tickets[0]?.outcomes[0]).forwarded, 'nothing');
  }
});

const CUTS: readonly (readonly [
  name: string,
  pieces: string[],
  then: 'end' | 'reset',
  shown: string,
  forwarded: string,
])[] = [
  ['a reset after text', [chat.role, chat.text('a')], 'reset', chat.role + chat.text('a'), 'content'],
  [
    'a clean end without the end mark',
    [chat.role, chat.text('a')],
    'end',
    chat.role + chat.text('a'),
    'content',
  ],
  [
    'a reset in the middle of an event',
    [chat.role, chat.text('a'), chat.text('b').slice(0, 40)],
    'reset',
    chat.role + chat.text('a'),
    'content',
  ],
  ['a reset after a tool call', [chat.role, chat.tool('f')], 'reset', chat.role + chat.tool('f'), 'more'],
  [
    'a reset after text and a tool call',
    [chat.role, chat.text('a'), chat.text('b'), chat.tool('f')],
    'reset',
    chat.role + chat.text('a') + chat.text('b') + chat.tool('f'),
    'more',
  ],
  [
    'a reset after reasoning',
    [chat.role, chat.reasoning('r')],
    'reset',
    chat.role + chat.reasoning('r'),
    'more',
  ],
];

for (const [name, pieces, then, shown, forwarded] of CUTS) {
  test(`${name} ends the stream with an error event, never with an end mark`, async () => {
    gpu.behave(stream(pieces, then));
    const bench = await home({ onFailure: () => tooLate });
    const reply = await ask(bench.url + PATH, CHAT, { 'X-Request-Id': 'cut-1' });
    assert.ok(reply.text().startsWith(shown), reply.text());
    assert.ok(!reply.text().includes('[DONE]'));
    assert.deepEqual(lastError(reply.text().slice(shown.length)), {
      message: 'the backend died',
      type: 'server_error',
      code: 'failed_after_output',
      request_id: 'cut-1',
    });
    assert.deepEqual(failed(bench.tickets[0]?.outcomes[0]), { kind: 'reset', reused: false, forwarded });
  });
}

test("an error event after text is not forwarded but told; the gate's word decides", async () => {
  gpu.behave(stream([chat.role, chat.text('a'), chat.text('b') + chat.error]));
  const verdicts: Verdict[] = [tooLate, { do: 'pass_on' }];
  const bench = await home({ onFailure: () => verdicts.shift() ?? tooLate });
  const text = [chat.role, chat.text('a'), chat.text('b')].join('');
  const refused = await ask(bench.url + PATH, CHAT);
  assert.equal(lastError(refused.text())['code'], 'failed_after_output');
  assert.ok(refused.text().startsWith(text) && !refused.text().includes('Compute'));
  const passed = await ask(bench.url + PATH, CHAT);
  assert.equal(passed.text(), text + chat.error);
  assert.deepEqual(failed(bench.tickets[1]?.outcomes[0]), {
    kind: 'http',
    status: 500,
    message: 'Compute error.',
    forwarded: 'content',
  });
});

test('a break after the end mark is no failure', async () => {
  gpu.behave(stream(CHAT_STREAM, 'reset'));
  const bench = await home();
  const reply = await ask(bench.url + PATH, CHAT);
  assert.equal(reply.text(), CHAT_STREAM.join(''));
  assert.equal(reply.how, 'whole');
  assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
});

test('an instance that answers a stream request with a whole body is passed on as such', async () => {
  gpu.behave(whole('{"ok":1}'));
  const bench = await home();
  const reply = await ask(bench.url + PATH, CHAT);
  assert.equal(reply.text(), '{"ok":1}');
  assert.equal(reply.headers['content-length'], '8');
});

test('a client that leaves after the finish chunk ended normally, one that leaves before did not', async () => {
  const bench = await home();
  gpu.behave(stream([chat.role, chat.text('a'), chat.finish], 'hang'));
  const n = gpu.arrivals.length;
  const reply = await post(bench.url + PATH, CHAT).reply;
  await reply.until('"finish_reason":"stop"');
  reply.leave();
  await (await gpu.arrival(n)).closed;
  assert.deepEqual(await bench.outcome(0), { kind: 'client_gone', finished: true });
  assert.equal((await bench.ended(0)).outcome, 'completed');

  gpu.behave(stream([chat.role, chat.text('a')], 'hang'));
  const second = await post(bench.url + PATH, CHAT).reply;
  await second.until('"content":"a"');
  second.leave();
  await (await gpu.arrival(n + 1)).closed;
  assert.deepEqual(await bench.outcome(1), { kind: 'client_gone', finished: false });
});

test('a slow reader stops the instance instead of filling memory, and loses nothing', async () => {
  const event = chat.text('x'.repeat(16_000));
  const total = 4000;
  let written = 0;
  gpu.behave(async ({ head, write, end }) => {
    head(200, SSE_HEAD);
    await write(chat.role);
    for (written = 0; written < total; written += 1) await write(event);
    end(chat.finish + chat.done);
  });
  const bench = await home();
  const reply = await post(bench.url + PATH, CHAT).reply;
  reply.pause();
  // The kernel's buffers fill, then nothing moves: two looks in a row see the same number.
  let before = -1;
  while (written !== before || written === 0) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(written < total / 2, `${written} of ${total} events were taken without a reader`);
  assert.ok(bench.unsent() < 1024 * 1024, `${bench.unsent()} bytes wait in memory`);
  reply.resume();
  assert.equal(await reply.end, 'whole');
  assert.equal(
    reply.bytes().length,
    Buffer.byteLength(chat.role + chat.finish + chat.done) + total * event.length,
  );
});

test('what an instance says without end is bounded: events before any content, one event, the message of an error', async () => {
  const bench = await home();
  const waits = `data: {"choices":[],"waits":"${'x'.repeat(1024 * 1024)}"}\n\n`;
  gpu.behave(stream([chat.role, ...Array.from({ length: 20 }, () => waits)]));
  const endless = await ask(bench.url + PATH, CHAT);
  assert.equal(endless.status, 502);
  assert.match(JSON.stringify(failed(bench.tickets[0]?.outcomes[0])), /before any content/);
  gpu.behave(stream([chat.role, ...Array.from({ length: 20 }, () => waits.trimEnd())], 'hang'));
  const event = await ask(bench.url + PATH, CHAT);
  assert.equal(event.status, 502);
  assert.match(JSON.stringify(failed(bench.tickets[1]?.outcomes[0])), /an event without end/);
  gpu.behave(failing(500, 'x'.repeat(100_000)));
  await ask(bench.url + PATH, CHAT);
  assert.ok(JSON.stringify(failed(bench.tickets[2]?.outcomes[0])).length < 1000);
});

test("each path's own protocol: end mark, error event, error body", async () => {
  const messages = ['event: message_start\ndata: {}\n\n', 'event: content_block_delta\ndata: {"d":1}\n\n'];
  const stop = 'event: message_delta\ndata: {}\n\nevent: message_stop\ndata: {}\n\n';
  const responses = [
    'event: response.created\ndata: {}\n\n',
    'event: response.output_text.delta\ndata: {}\n\n',
  ];
  const completed = 'event: response.completed\ndata: {}\n\n';
  const text = ['data: {"choices":[{"text":"a","finish_reason":null}]}\n\n'];
  for (const [path, begin, end] of [
    ['/v1/messages', messages, stop],
    ['/v1/responses', responses, completed],
    ['/v1/completions', text, chat.done],
  ] as const) {
    const bench = await home({ onFailure: () => tooLate });
    gpu.behave(stream([...begin, end]));
    const good = await ask(bench.url + path, CHAT);
    assert.equal(good.text(), begin.join('') + end);
    gpu.behave(stream([...begin]));
    const cut = await ask(bench.url + path, CHAT);
    const events = cut.text().slice(begin.join('').length);
    assert.equal(lastError(events)['code'], 'failed_after_output', path);
    assert.equal(events.startsWith('event: error\n'), path !== '/v1/completions', path);
    assert.deepEqual(failed(bench.tickets[1]?.outcomes[0]), {
      kind: 'reset',
      reused: false,
      forwarded: 'more',
    });
  }
  const bench = await home({
    onArrival: () => ({ do: 'refuse', refusal: { code: 'capacity', message: 'full', retryAfter: 3 } }),
  });
  const anthropic = await ask(`${bench.url}/v1/messages`, CHAT, { 'X-Request-Id': 'a' });
  assert.deepEqual(JSON.parse(anthropic.text()), {
    type: 'error',
    error: { message: 'full', type: 'overloaded_error', code: 'capacity', request_id: 'a' },
    request_id: 'a',
  });
});
