/** The model API with the real core behind its gate: the verdicts are the core's, the instances speak HTTP. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { twoInstances } from '../../../support/core-edge.ts';
import {
  CHAT_STREAM,
  chat,
  failing,
  resetAtOnce,
  silent,
  stream,
  WHOLE,
  whole,
} from '../../../support/fake-llama.ts';
import { GIB, GPU, host } from '../../../support/model.ts';
import { ask, post } from '../../../support/raw-client.ts';
import { until } from '../../../support/until.ts';

const CHAT = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
const { gpu, cpu, home } = await twoInstances();

test('the GPU dies under a request, and the CPU answers it under the same id', async () => {
  for (const body of [CHAT, { ...CHAT, stream: true }]) {
    gpu.behave(resetAtOnce);
    cpu.behave(body === CHAT ? whole() : stream(CHAT_STREAM));
    const { url, loop, facts } = await home();
    const reply = await ask(url + PATH, body, { 'X-Request-Id': 'mine' });
    assert.equal(reply.text(), body === CHAT ? WHOLE : CHAT_STREAM.join(''));
    assert.equal(reply.headers['llamastead-placement'], 'cpu');
    assert.equal(reply.headers['llamastead-attempts'], '2');
    assert.equal(reply.headers['x-request-id'], 'mine');
    const failover = facts.find(({ type }) => type === 'failover');
    assert.equal(failover?.requestId, 'mine');
    assert.equal(loop.state.requests.size, 0);
  }
});

test('answers teach the speed of what they ran on, also those whose client left at the finish', async () => {
  const { url, loop } = await home();
  gpu.behave(whole());
  await ask(url + PATH, CHAT);
  const learned = { prompt: 40_000 / 20.5, generation: 20_000 / 100.25 };
  assert.deepEqual([...loop.state.speeds], [['chat-gpu', learned]]);
  const twice = chat.finish.replace('"predicted_n":20', '"predicted_n":40');
  gpu.behave(stream([chat.role, chat.text('a'), twice], 'hang'));
  const sent = post(url + PATH, { ...CHAT, stream: true });
  await (await sent.reply).until('"finish_reason":"stop"');
  const ended = new Promise<void>((resolve) => loop.onTurn(resolve));
  sent.leave();
  await ended;
  assert.ok((loop.state.speeds.get('chat-gpu')?.generation ?? 0) > learned.generation);
});

test('a request that ends both is poison: the same body is refused, another one is not', async () => {
  gpu.behave(resetAtOnce);
  cpu.behave(resetAtOnce);
  const { url, loop } = await home();
  for (const round of ['first', 'again']) {
    const asked = gpu.arrivals.length + cpu.arrivals.length;
    const reply = await ask(url + PATH, CHAT);
    assert.equal(reply.status, 422, round);
    assert.equal(JSON.parse(reply.text()).error.code, 'poison');
    assert.equal(reply.headers['x-should-retry'], 'false');
    assert.equal(gpu.arrivals.length + cpu.arrivals.length - asked, round === 'first' ? 2 : 0);
  }
  assert.equal(loop.state.requests.size, 0);
  loop.state.models.get('chat')?.outages.clear();
  cpu.behave(whole());
  gpu.behave(whole());
  assert.equal((await ask(url + PATH, { ...CHAT, temperature: 0 })).status, 200);
  assert.equal((await ask(`${url}/v1/completions`, CHAT)).status, 200);
});

test("a client's fault passes on, Compute error does not", async () => {
  const { url } = await home();
  gpu.behave(failing(400, 'too long', 'exceed_context_size_error'));
  assert.equal((await ask(url + PATH, CHAT)).status, 400);
  gpu.behave(failing(500, 'Compute error.'));
  cpu.behave(whole());
  const reply = await ask(url + PATH, CHAT);
  assert.equal(reply.headers['llamastead-placement'], 'cpu');
});

test('a server error without a cause is passed on while the card has room, and moves to the CPU when it is full', async () => {
  let used = 7 * GIB;
  const card = '0000:03:00.0';
  const memory = () => ({ ...host(12 * GIB), cards: { [card]: { total: 8 * GIB, used } } });
  const { url } = await home(undefined, { gpu: { ...GPU, cards: { Vulkan0: card } }, memory });
  gpu.behave(failing(500, 'Internal Server Error'));
  cpu.behave(whole());
  const passed = await ask(url + PATH, CHAT);
  assert.equal(passed.status, 500);
  assert.match(passed.text(), /Internal Server Error/);
  used = 8 * GIB - 1;
  const moved = await ask(url + PATH, CHAT);
  assert.equal(moved.text(), WHOLE);
  assert.equal(moved.headers['llamastead-placement'], 'cpu');
  assert.equal(moved.headers['llamastead-attempts'], '2');
});

test('a stream that broke after text ends with failed_after_output', async () => {
  gpu.behave(stream([chat.role, chat.text('a')], 'reset'));
  const { url } = await home();
  const reply = await ask(url + PATH, { ...CHAT, stream: true });
  assert.match(reply.text(), /"failed_after_output"[^\n]*\n\n$/);
});

test('a client that leaves frees its slot for the next in the queue', async () => {
  gpu.behave(silent);
  const { url, loop } = await home();
  const n = gpu.arrivals.length;
  const first = post(url + PATH, CHAT);
  await gpu.arrival(n);
  const second = post(url + PATH, CHAT);
  const third = post(url + PATH, CHAT);
  gpu.behave(whole());
  await until(() => loop.state.requests.size >= 3);
  first.leave();
  for (const sent of [second, third]) assert.equal((await sent.reply).status, 200);
  assert.equal(gpu.arrivals.length, n + 3);
});

test('a stale connection is no failure: nothing is demoted', async () => {
  gpu.behave(whole());
  const { url, facts } = await home();
  await ask(url + PATH, CHAT);
  let stale = true;
  gpu.behave((arrival) => {
    if (!stale) return void whole()(arrival);
    stale = false;
    arrival.reset();
  });
  const reply = await ask(url + PATH, CHAT);
  assert.equal(reply.headers['llamastead-placement'], 'gpu');
  assert.equal(reply.headers['llamastead-attempts'], '1');
  assert.ok(facts.every(({ type }) => type !== 'failover'));
});
