/**
 * A client that leaves, in each phase, on real containers: the instance's own word is that the slot is free, its
 * log shows that nothing was begun again, and the lease is over. With an idempotency key the answer waits.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, post, type Reply } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { type Controller, startController } from './support/controller.ts';
import { type Instance, instanceOf } from './support/slots.ts';
import { running } from './support/wait.ts';

const PATH = '/v1/chat/completions';
let home: Controller;
let instance: Instance;
/** Of a model that is slow enough to be met in the middle of a prompt and of an answer. */
let slow: Instance;

before(async () => {
  const cpu = { placements: ['cpu'], parallel: 1, idleUnload: 'never' };
  home = await startController('e2e-cancel', {
    models: {
      tiny: { ...cpu, file: 'tiny.gguf', context: 2048 },
      cold: { ...cpu, file: 'tiny.gguf', context: 512 },
      both: { file: 'tiny.gguf', context: 2048, parallel: 1, idleUnload: 'never' },
      chat: { ...cpu, file: 'smollm2-135m-instruct-q4_1.gguf', context: 4096 },
    },
  });
  await Promise.all(['tiny', 'chat', 'both'].map((model) => home.post(`/admin/models/${model}/load?wait=1`)));
  instance = await instanceOf(home, 'tiny', 'cpu');
  slow = await instanceOf(home, 'chat', 'cpu');
});

after(() => home.close());

function body(model: string, prompt = 'hello', tokens = 1500) {
  const messages = [{ role: 'user', content: prompt }];
  return { model, stream: true, max_tokens: tokens, ignore_eos: true, messages };
}

function send(model: string, id: string, prompt?: string) {
  return post(home.url + PATH, body(model, prompt), { 'X-Request-Id': id });
}

const streaming = (reply: Reply) => reply.until('"content":"');

/** No lease, nobody waiting. */
async function atRest(): Promise<void> {
  await until(async () => {
    const { leases, queue, requests } = await home.state();
    return leases === 0 && queue === 0 && requests.length === 0;
  });
}

/** Waits for the slots to be free; only so many requests were begun since `before`. */
async function freed(of: Instance, before: number, begun: number): Promise<void> {
  await until(of.isFree);
  await atRest();
  assert.equal((await of.tasks()) - before, begun);
}

test('in the middle of a stream', async () => {
  const before = await instance.tasks();
  const reply = await send('tiny', 'streaming').reply;
  await streaming(reply);
  reply.leave();
  await freed(instance, before, 1);
});

test('while the prompt is read', async () => {
  const before = await slow.tasks();
  const words = Array.from({ length: 250 }, (_, n) => `word${n}`).join(' ');
  const sent = send('chat', 'prefill', words);
  let answered = false;
  sent.reply.then(
    () => {
      answered = true;
    },
    () => {},
  );
  await until(async () => (await slow.busy()) === 1);
  sent.leave();
  await freed(slow, before, 1);
  assert.equal(answered, false);
});

test('in the queue: the one before it goes on', async () => {
  const before = await slow.tasks();
  const first = await send('chat', 'first').reply;
  await streaming(first);
  const second = send('chat', 'second');
  await until(async () => (await home.state()).queue === 1);
  second.leave();
  await until(async () => (await home.state()).queue === 0);
  assert.equal(await slow.busy(), 1);
  first.leave();
  await freed(slow, before, 1);
});

test('while the model loads: the load goes on and no request follows it', async () => {
  const sent = send('cold', 'loading');
  await home.event('model_loading', (fact) => fact.model === 'cold');
  sent.leave();
  await home.event('model_loaded', (fact) => fact.model === 'cold');
  const cold = await instanceOf(home, 'cold', 'cpu');
  const probes = await cold.tasks();
  await freed(cold, probes, 0);
  assert.equal((await ask(home.url + PATH, body('cold', 'hi', 4))).status, 200);
  assert.equal((await cold.tasks()) - probes, 1);
});

test('after the chunk with finish_reason it is a normal end', async () => {
  const count = async () => {
    const text = await (await fetch(`${home.url}/metrics`)).text();
    const line = /^llamastead_requests_total\{model="tiny",placement="cpu",outcome="completed"\} (\d+)/m;
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const before = await count();
  const reply = await post(home.url + PATH, body('tiny', 'hello', 4)).reply;
  await reply.until('"finish_reason":"length"');
  reply.leave();
  await atRest();
  assert.equal(await count(), before + 1);
});

test('with a key its answer goes on, once, and a client that comes back has all of it', async () => {
  const before = await slow.tasks();
  const headers = { 'Idempotency-Key': 'lost', 'X-Request-Id': 'lost-1' };
  const asked = body('chat', 'hello', 150);
  const lost = await post(home.url + PATH, asked, headers).reply;
  await streaming(lost);
  lost.leave();
  await running(home, 'lost-1');
  const back = await ask(home.url + PATH, asked, { 'Idempotency-Key': 'lost' });
  assert.equal(back.how, 'whole');
  assert.equal(back.headers['llamastead-joined'], 'lost-1');
  assert.ok(back.text().startsWith(lost.text()));
  assert.match(back.text(), /\[DONE\]\n\n$/);
  await freed(slow, before, 1);
  const again = await ask(home.url + PATH, asked, { 'Idempotency-Key': 'lost' });
  assert.ok(again.bytes().equals(back.bytes()));
  assert.equal((await slow.tasks()) - before, 1);
});

test('nothing of it was a failure', () => {
  const failures = ['failover', 'request_failed', 'failover_failed', 'backend_crashed', 'load_failed'];
  assert.deepEqual(
    home.facts().filter(({ type }) => failures.includes(type)),
    [],
  );
});

test('while another instance goes on with the text of one that died', async () => {
  const reply = await send('both', 'resuming').reply;
  await streaming(reply);
  await home.docker('kill', await home.container('both', 'gpu'));
  await reply.until('attempt=2 placement=cpu');
  reply.leave();
  const cpu = await instanceOf(home, 'both', 'cpu');
  await until(cpu.isFree);
  await atRest();
  const begun = await cpu.tasks();
  // Its own probe, and the text where the client was still there when it was sent.
  assert.ok(begun <= 2, `${begun} requests were begun`);
  await home.event('recovered', (fact) => fact.model === 'both');
  assert.equal(home.facts().filter(({ type }) => type === 'failover').length, 1);
  const gpu = await instanceOf(home, 'both', 'gpu');
  assert.equal(await gpu.busy(), 0);
  assert.equal(await gpu.tasks(), 1);
});
