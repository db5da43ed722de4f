/** The controller ends while streams wait: each gets an error that its client understands, in its own form. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { coreEdge } from '../../../support/core-edge.ts';
import { fakeLlama, silent } from '../../../support/fake-llama.ts';
import { ask, post } from '../../../support/raw-client.ts';
import { until } from '../../../support/until.ts';

const gpu = await fakeLlama(silent);
const edge = await coreEdge({ gpu: gpu.port, cpu: gpu.port });

after(async () => {
  await edge.close();
  await gpu.close();
});

const messages = [{ role: 'user', content: 'hi' }];
const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { model: 'chat', messages, stream: true },
  '/v1/completions': { model: 'chat', prompt: 'hi', stream: true },
  '/v1/responses': { model: 'chat', input: 'hi', stream: true },
  '/v1/messages': { model: 'chat', messages, max_tokens: 8, stream: true },
};

test('waiting requests of every path are told, the running one may finish, new ones are refused', async () => {
  const running = post(`${edge.url}/v1/chat/completions`, bodies['/v1/chat/completions'] ?? {});
  await gpu.arrival(0);
  const waiting = Object.entries(bodies).map(([path, body]) => ({ path, sent: post(edge.url + path, body) }));
  await until(() => edge.loop.state.waiting.length >= waiting.length);
  edge.loop.submit({ type: 'shutdown' });
  for (const { path, sent } of waiting) {
    const reply = await sent.reply;
    await reply.end;
    assert.equal(reply.status, 503, path);
    const { error } = JSON.parse(reply.text()) as { error: { code: string; message: string } };
    assert.equal(error.code, 'capacity', path);
    assert.match(error.message, /shutting down/, path);
    assert.ok(Number(reply.headers['retry-after']) > 0, path);
  }
  assert.equal(edge.loop.state.requests.size, 1);
  const late = await ask(`${edge.url}/v1/chat/completions`, bodies['/v1/chat/completions'] ?? {});
  assert.equal(late.status, 503);
  running.leave();
});
