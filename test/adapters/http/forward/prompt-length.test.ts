/** Prompts that are too long for an instance, on the wire. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textBytes } from '../../../../app/adapters/http/forward/skim.ts';
import { twoInstances } from '../../../support/core-edge.ts';
import {
  type Arrival,
  type Behaviour,
  CHAT_STREAM,
  JSON_HEAD,
  silent,
  stream,
  WHOLE,
  whole,
} from '../../../support/fake-llama.ts';
import { ask, post } from '../../../support/raw-client.ts';

const PATH = '/v1/chat/completions';
const { gpu, cpu, home } = await twoInstances();

const words = (count: number) => ({
  model: 'chat',
  messages: [{ role: 'user', content: 'word '.repeat(count) }],
});

function prompting(path: string, count: number): object {
  const prompt = 'word '.repeat(count);
  if (path === '/v1/completions') return { model: 'chat', prompt };
  return path === '/v1/responses' ? { model: 'chat', input: prompt } : words(count);
}

const COUNTS = new Set(['/v1/messages/count_tokens', '/v1/responses/input_tokens']);

const overflowBody = (tokens: number, context: number) =>
  JSON.stringify({
    error: {
      code: 400,
      message: `request (${tokens} tokens) exceeds the available context size (${context} tokens), try increasing it`,
      type: 'exceed_context_size_error',
      n_prompt_tokens: tokens,
      n_ctx: context,
    },
  });

/** As llama-server: a token a word; a prompt that is too long is a 400, before a stream too. */
function counting(context: number, answer: Behaviour): Behaviour {
  return (arrival) => {
    const { path, body } = arrival;
    const tokens = body.split('word').length - 1;
    if (path === '/apply-template') return json(arrival, { prompt: 'word '.repeat(tokens) });
    if (path === '/tokenize') return json(arrival, { tokens: Array.from({ length: tokens }, () => 1) });
    if (COUNTS.has(path)) return json(arrival, { input_tokens: tokens });
    return tokens >= context ? whole(overflowBody(tokens, context), 400)(arrival) : answer(arrival);
  };
}

function json({ head, end }: Arrival, value: object): void {
  head(200, JSON_HEAD);
  end(JSON.stringify(value));
}

test('what the GPU refuses as too long is answered by the CPU, as its first attempt', async () => {
  gpu.behave(counting(512, whole()));
  const { url, facts, loop } = await home({ gpu: 512, cpu: 2048 });
  for (const streamed of [false, true]) {
    cpu.behave(counting(2048, streamed ? stream(CHAT_STREAM) : whole()));
    const reply = await ask(url + PATH, { ...words(700), stream: streamed });
    assert.equal(reply.status, 200);
    assert.equal(reply.text(), streamed ? CHAT_STREAM.join('') : WHOLE);
    assert.equal(reply.headers['llamastead-placement'], 'cpu');
    assert.equal(reply.headers['llamastead-attempts'], '1');
  }
  assert.deepEqual(
    facts.filter(({ type }) => type !== 'model_loading' && type !== 'model_loaded'),
    [],
  );
  assert.equal(loop.state.requests.size, 0);
});

test("what is too long for all gets the backend's own answer, and is told as a problem", async () => {
  gpu.behave(counting(512, whole()));
  cpu.behave(counting(2048, whole()));
  const { url, loop } = await home({ gpu: 512, cpu: 2048 });
  const reply = await ask(url + PATH, words(3000));
  assert.equal(reply.status, 400);
  assert.match(reply.text(), /^\{"error":\{"code":400,.*"n_prompt_tokens":3000,"n_ctx":\d+\}\}$/);
  assert.equal([...loop.state.problems.values()][0]?.code, 'context_exceeded');
});

for (const path of [PATH, '/v1/messages', '/v1/completions', '/v1/responses']) {
  test(`a prompt that waits is counted: ${path} ends in llama-server's form`, async () => {
    gpu.behave(silent);
    const { url, loop } = await home({ gpu: 512, cpu: 512 });
    const n = gpu.arrivals.length;
    const first = post(url + PATH, words(3));
    await gpu.arrival(n);
    gpu.behave(counting(512, whole()));
    const reply = await ask(url + path, prompting(path, 600), { 'Llamastead-Deadline': '60s' });
    assert.equal(reply.status, 400);
    const { error } = JSON.parse(reply.text());
    assert.equal(error.type, 'exceed_context_size_error');
    assert.equal(error.code, 400);
    assert.equal(error.n_prompt_tokens, 600);
    assert.equal(error.n_ctx, 512);
    assert.equal(error.request_id, reply.headers['x-request-id']);
    first.leave();
    await ask(url + PATH, words(1));
    assert.equal(loop.state.requests.size, 0);
  });
}

test('an instance that cannot count holds nobody up', async () => {
  gpu.behave(silent);
  const { url } = await home({ gpu: 512, cpu: 512 });
  const n = gpu.arrivals.length;
  const first = post(url + PATH, words(3));
  await gpu.arrival(n);
  gpu.behave(({ path, head, end }) => {
    head(path === PATH ? 200 : 404, JSON_HEAD);
    end(path === PATH ? WHOLE : '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}');
  });
  const second = post(url + PATH, words(300));
  await gpu.arrival(n + 1);
  assert.equal(gpu.arrivals[n + 1]?.path, '/apply-template');
  first.leave();
  assert.equal((await second.reply).status, 200);
});

test('pictures are no text', () => {
  const picture = 'iVBORw0KGgo'.repeat(5000);
  const body = (url: string) => Buffer.from(JSON.stringify({ messages: [{ text: 'What is this?', url }] }));
  const bare = body('').length;
  for (const data of [`data:image/png;base64,${picture}`, picture]) assert.equal(textBytes(body(data)), bare);
  const prose = 'Once upon a time. '.repeat(5000);
  assert.equal(textBytes(body(prose)), body(prose).length);
});
