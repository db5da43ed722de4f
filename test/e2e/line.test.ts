/** More asks than can be served, and prompts that do not fit, on real llama-servers. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RequestView } from '../../app/core/view.ts';
import { until } from '../support/until.ts';
import { type ChatOptions, chat, sendChat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

let home: Controller;
const SENTENCE = 'The llama keeps the house warm. ';

before(async () => {
  home = await startController('e2e-line', {
    queue: { depth: 5, deadline: '120s' },
    failover: { streamKeepalive: '50ms' },
    models: {
      line: { file: 'tiny.gguf', context: 8192, parallel: 1, placements: ['cpu'] },
      long: { file: 'tiny.gguf', parallel: 1, gpu: { context: 512 }, cpu: { context: 2048 } },
    },
  });
});

after(() => home.close());

/** A long answer holds the model's only slot until the returned function ends it. */
async function hold(model: string): Promise<() => Promise<void>> {
  const id = `hold-${model}`;
  const response = await sendChat(home, {
    model,
    id,
    stream: true,
    tokens: 6000,
    headers: { 'x-user-id': 'h' },
  });
  await running(home, id);
  return async () => response.body?.cancel();
}

async function requests(): Promise<readonly RequestView[]> {
  return (await home.state()).requests;
}

/** Sends a chat that has to wait; its answer, still to come. */
async function queued(user: string, id: string, more: ChatOptions = {}): Promise<ReturnType<typeof chat>[]> {
  const answer = chat(home, { model: 'line', id, tokens: 4, headers: { 'x-user-id': user }, ...more });
  await until(async () => (await requests()).some((one) => one.id === id));
  return [answer];
}

test('clients take turns, a stream is told its place, and a full line says when to come back', async () => {
  const release = await hold('line');
  const answers = [];
  for (const id of ['a1', 'a2', 'a3', 'a4']) answers.push(...(await queued('a', id)));
  const stream = { model: 'line', id: 'b1', stream: true, tokens: 4, headers: { 'x-user-id': 'b' } };
  // Its head comes with the first comment, which tells its place.
  const b = (await sendChat(home, stream)).text();
  const places = new Map((await requests()).map(({ id, position }) => [id, position]));
  assert.deepEqual(
    ['a1', 'b1', 'a2', 'a3', 'a4'].map((id) => places.get(id)),
    [1, 2, 3, 4, 5],
  );

  const refused = await sendChat(home, { model: 'line', headers: { 'x-user-id': 'a' } });
  assert.equal(refused.status, 429);
  assert.match(await refused.text(), /"queue_full"/);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d{0,2}$/);

  const ended: string[] = [];
  for (const answer of answers) void answer.then(({ requestId }) => ended.push(requestId ?? ''));
  void b.then(() => ended.push('b1'));
  await release();
  for (const answer of answers) assert.equal((await answer).status, 200);
  const raw = await b;
  assert.match(raw, /^: llamastead queue position=2\n\n/);
  assert.equal(raw.trimEnd().split('\n').at(-1), 'data: [DONE]');
  // Of two that end one right after the other this process may read either first.
  assert.ok(ended.indexOf('b1') < ended.indexOf('a4'), ended.join(' '));
});

test('a prompt that is too long for the GPU is answered by the CPU, which has more context', async () => {
  const short = await chat(home, { model: 'long' });
  assert.equal(short.placement, 'gpu');
  const answer = await chat(home, { model: 'long', prompt: SENTENCE.repeat(100) });
  assert.equal(answer.status, 200);
  assert.equal(answer.placement, 'cpu');
  assert.equal(answer.attempts, '1');
  assert.equal((await chat(home, { model: 'long' })).placement, 'gpu');
});

test("what fits nowhere gets llama-server's own error, waiting or not, and is a problem on the page", async () => {
  const prompt = SENTENCE.repeat(400);
  const direct = await chat(home, { model: 'long', prompt });
  assert.equal(direct.status, 400);
  const { error } = JSON.parse(direct.raw);
  assert.equal(error.type, 'exceed_context_size_error');
  const release = await hold('long');
  const counted = await chat(home, { model: 'long', prompt });
  await release();
  assert.equal(counted.status, 400);
  const own = JSON.parse(counted.raw).error;
  assert.deepEqual(
    { ...own, request_id: null, n_ctx: null, message: null },
    { ...error, request_id: null, n_ctx: null, message: null },
  );
  assert.equal(own.n_ctx, 2048);
  const problem = (await home.state()).problems.find(({ code }) => code === 'context_exceeded');
  assert.equal(problem?.params?.['tokens'], error.n_prompt_tokens);
});

test('a CPU that would be too slow for the deadline refuses with the numbers', async () => {
  await chat(home, { model: 'line', prompt: SENTENCE.repeat(100) });
  const prompt = SENTENCE.repeat(600);
  const refused = await sendChat(home, { model: 'line', prompt, headers: { 'llamastead-deadline': '10ms' } });
  assert.equal(refused.status, 503);
  const { error } = JSON.parse(await refused.text());
  assert.equal(error.code, 'capacity');
  assert.match(error.message, /\d+ tokens to read at \d+ a second/);
});
