/** The end of the controller, asked for and not, with streams that wait and streams that run. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { type Mosquitto, mosquitto } from '../adapters/mqtt/support/mosquitto.ts';
import { until } from '../support/until.ts';
import { chat, sendChat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

const ACCOUNT = { username: 'nas', password: 'a-secret-of-the-test' };
const TINY = { file: 'tiny.gguf', context: 2048, parallel: 2, placements: ['cpu'] };
let home: Controller;
let broker: Mosquitto;
let listener: MqttClient;
const told: { readonly seq: number; readonly text: string }[] = [];

/** `grace` is short, so that running streams are cut. */
const config = (instances: 'stop' | 'keep') => ({
  models: { tiny: TINY },
  shutdown: { instances, grace: '1s' },
  failover: { streamKeepalive: '100ms' },
  mqtt: { instance: 'e2e-ending', url: broker.url, ...ACCOUNT },
});

before(async () => {
  broker = await mosquitto(ACCOUNT);
  // A session that outlives its connection: nothing that the broker was given is missed.
  listener = await connectAsync(broker.url, { ...ACCOUNT, clientId: 'listener', clean: false });
  listener.on('message', (_, payload) => {
    const text = payload.toString();
    told.push({ seq: (JSON.parse(text) as { seq: number }).seq, text });
  });
  await listener.subscribeAsync('llamastead/e2e-ending/event', { qos: 1 });
  home = await startController('e2e-ending', config('keep'));
});

after(async () => {
  await home.close();
  await listener.endAsync();
  await broker.close();
});

const started = (id: string) => home.docker('inspect', '--format', '{{.Id}} {{.State.StartedAt}}', id);

test('killed under load: every stream shows it, the instance is adopted, its slots are free', async () => {
  await chat(home);
  const [instance] = await home.instances();
  const before = await started(instance ?? '');
  const streams = Array.from({ length: 6 }, (_, n) =>
    sendChat(home, { tokens: 1500, stream: true, id: `cut-${n}` }).then((response) => response.text()),
  );
  for (const stream of streams) stream.catch(() => {});
  await until(async () => {
    const { requests } = await home.state();
    const runs = requests.filter(({ phase }) => phase === 'running').length;
    return runs === 2 && requests.length === 6;
  });
  await home.kill('SIGKILL');
  for (const stream of streams) {
    const ending = await stream.then(
      (text) => (text.includes('[DONE]') ? 'whole' : 'cut'),
      () => 'broken',
    );
    assert.equal(ending, 'broken', 'a cut stream never looks like a whole one');
  }
  await home.start();
  assert.deepEqual(await home.instances(), [instance]);
  assert.equal(await started(instance ?? ''), before);
  const both = await Promise.all([chat(home, { tokens: 20 }), chat(home, { tokens: 20 })]);
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  );
});

test('asked to end with instances kept: streams are told in their form, the instance serves the next run', async () => {
  const [instance] = await home.instances();
  const before = await started(instance ?? '');
  const send = (id: string) => sendChat(home, { tokens: 1900, stream: true, id });
  const runs = [await send('runs-1'), await send('runs-2')];
  await running(home, 'runs-1');
  await running(home, 'runs-2');
  const waiting = await send('waits');
  const code = home.kill('SIGTERM');
  const texts = await Promise.all([...runs, waiting].map((response) => response.text()));
  assert.equal(await code, 0);
  for (const text of texts) {
    if (text.includes('[DONE]')) continue;
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    assert.match(last, /^data: \{"error":/);
    const { error } = JSON.parse(last.slice(6)) as { error: { code: string } };
    assert.ok(['capacity', 'failed_after_output'].includes(error.code), error.code);
  }
  assert.match(texts.at(-1) ?? '', /"code":"capacity"/, 'the one that waited never ran');
  assert.equal(await started(instance ?? ''), before);
  await home.start();
  assert.equal((await chat(home)).status, 200);
  assert.equal(await started(instance ?? ''), before);
});

test('asked to end with instances stopped: a busy one ends on SIGTERM, since its streams are closed first', async () => {
  await home.configure(config('stop'));
  await home.event('config_reloaded');
  const stream = await sendChat(home, { tokens: 1900, stream: true, id: 'busy' });
  await running(home, 'busy');
  const text = stream.text();
  assert.equal(await home.kill('SIGTERM'), 0);
  await text;
  assert.deepEqual(await home.instances(), []);
  assert.doesNotMatch(home.log(), /did not end on SIGTERM/);
  await home.start();
});

test('asked to end: an answer under a key that no client takes ends at once, one with a client goes on', async () => {
  await home.configure({ ...config('stop'), shutdown: { grace: '300s' } });
  await home.event('config_reloaded');
  const ask = (id: string, tokens: number) =>
    sendChat(home, { tokens, stream: true, id, headers: { 'idempotency-key': id } });
  const [left, stays] = [await ask('left', 1_900), await ask('stays', 1_500)];
  const text = stays.text();
  await running(home, 'left');
  await running(home, 'stays');
  await left.body?.cancel();
  const exit = home.kill('SIGTERM');
  const ids = async () => (await home.state()).requests.map(({ id }) => id);
  await until(async () => !(await ids()).includes('left'));
  const rest = await ids();
  const code = await exit;
  assert.deepEqual(rest, ['stays'], 'it had long to go');
  assert.match(await text, /\[DONE\]/);
  assert.equal(code, 0);
  await home.configure(config('stop'));
  await home.start();
});

test('through a broker of its own every event came, in order; one that came twice came after the crash, as it was', async () => {
  const newest = home.facts().at(-1)?.seq ?? 0;
  await until(() => told.some(({ seq }) => seq >= newest));
  const seqs = new Set(told.map(({ seq }) => seq));
  for (let seq = 1; seq <= newest; seq += 1) assert.ok(seqs.has(seq), `event ${seq} came`);
  const first = new Map<number, string>();
  let highest = 0;
  for (const { seq, text } of told) {
    const known = first.get(seq);
    if (known === undefined) {
      assert.equal(seq, highest + 1, 'in order');
      highest = seq;
      first.set(seq, text);
    } else assert.equal(text, known, `event ${seq} came again as it was`);
  }
  const doubles = told.length - first.size;
  assert.ok(doubles <= 20, `${doubles} came twice`);
});
