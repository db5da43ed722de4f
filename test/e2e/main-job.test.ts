/** The main job on real parts, in the order in which a home lives it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { until } from '../support/until.ts';
import { chat, sendChat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

let home: Controller;
let client: MqttClient;
const mqttEvents: { readonly type: string; readonly seq: number }[] = [];

const config = (idleUnload: string) => ({
  models: {
    tiny: { file: 'tiny.gguf', context: 2048, parallel: 4, idleUnload },
    other: { file: 'tiny.gguf', context: 512, placements: ['cpu'] },
  },
});

before(async () => {
  home = await startController('e2e-main', config('never'));
  client = await connectAsync(`mqtt://127.0.0.1:${home.mqttPort}`, {
    username: 'llamastead',
    password: await home.mqttPassword(),
  });
  client.on('message', (_, payload) =>
    mqttEvents.push(JSON.parse(payload.toString()) as { type: string; seq: number }),
  );
  await client.subscribeAsync('llamastead/e2e-main/event');
});

after(async () => {
  await client.endAsync();
  await home.close();
});

test('a chat loads the model on the GPU and answers', async () => {
  const answer = await chat(home, { id: 'first' });
  assert.equal(answer.status, 200);
  assert.equal(answer.placement, 'gpu');
  assert.equal(answer.requestId, 'first');
  assert.match(await home.container('tiny', 'gpu'), /^llamastead-e2e-main-tiny-gpu-[0-9a-f]{6}$/);
});

test('the GPU dies under a request: the CPU answers it under the same id, told once', async () => {
  const victim = await home.container('tiny', 'gpu');
  const pending = chat(home, { id: 'night', tokens: 400 });
  await running(home, 'night');
  const isDegraded = async () => (await home.state()).models[0]?.status === 'degraded';
  const degraded = until(isDegraded);
  await home.docker('kill', victim);
  const answer = await pending;
  assert.equal(answer.status, 200);
  assert.equal(answer.requestId, 'night');
  assert.equal(answer.placement, 'cpu');
  assert.equal(answer.attempts, '2');
  const failover = await home.event('failover');
  assert.equal(failover.requestId, 'night');
  assert.equal(failover.to, 'cpu');
  assert.equal(failover.reason, 'killed_outside');
  await degraded;
});

test('the GPU comes back by itself, and the CPU copy goes', async () => {
  const recovered = await home.event('recovered');
  assert.equal(recovered.placement, 'gpu');
  await home.event('model_unloaded', (fact) => fact.placement === 'cpu');
  assert.equal((await chat(home)).placement, 'gpu');
  assert.equal(home.facts().filter((fact) => fact.type === 'failover').length, 1);
});

test('a stream ends with its end mark, and its head says where it ran', async () => {
  const answer = await chat(home, { stream: true, tokens: 20 });
  assert.equal(answer.placement, 'gpu');
  assert.ok(answer.text.length > 0);
  assert.equal(answer.raw.trimEnd().split('\n').at(-1), 'data: [DONE]');
});

test('polling is no use of a model: it is unloaded when idle, and its container is gone', async () => {
  await home.configure(config('1s'));
  await home.event('config_reloaded');
  await home.state();
  const unloaded = await home.event('model_unloaded', (fact) => fact.why === 'idle');
  assert.equal(unloaded.model, 'tiny');
  assert.deepEqual(await home.instances(), []);
});

test('a command loads, and answers when it is done', async () => {
  await home.configure(config('never'));
  await home.event('config_reloaded');
  const loaded = await home.post('/admin/models/tiny/load?wait=1');
  assert.equal(loaded.status, 200);
  assert.equal((await home.instances()).length, 1);
  const cpu = await home.post('/admin/models/tiny/mode', { mode: 'cpu' });
  assert.equal(cpu.status, 202);
  assert.equal((await chat(home)).placement, 'cpu');
  await home.post('/admin/models/tiny/mode', { mode: 'auto' });
});

test('the page, Docker and MQTT were told the same events, in order', async () => {
  const told = home.facts();
  const newest = told.at(-1)?.seq ?? 0;
  while ((mqttEvents.at(-1)?.seq ?? 0) < newest)
    await new Promise((resolve) => client.once('message', resolve));
  const seqs = mqttEvents.map((event) => event.seq);
  assert.deepEqual(
    seqs,
    [...seqs].sort((a, b) => a - b),
  );
  assert.equal(new Set(seqs).size, seqs.length);
  for (const type of ['model_loaded', 'failover', 'recovered', 'model_unloaded']) {
    assert.ok(
      mqttEvents.some((event) => event.type === type),
      `${type} over MQTT`,
    );
  }
});

test('a client that goes frees its slot', async () => {
  const response = await sendChat(home, { stream: true, tokens: 1500, id: 'leaver' });
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await until(async () => (await home.state()).leases === 0);
});
