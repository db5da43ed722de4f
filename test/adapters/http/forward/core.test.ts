/** The model API with the real core behind its gate: the verdicts are the core's, the instances speak HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { modelApi } from '../../../../app/adapters/http/forward/index.ts';
import { systemClock } from '../../../../app/clock.ts';
import type { FactBody } from '../../../../app/core/facts.ts';
import { UNKNOWN_SPEED } from '../../../../app/core/speed.ts';
import type { Placement } from '../../../../app/core/types.ts';
import { makeGate } from '../../../../app/gate.ts';
import { type Loop, makeLoop } from '../../../../app/loop.ts';
import { makeWaiters } from '../../../../app/waiters.ts';
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
import { GIB, host, model, need, policy, profile } from '../../../support/model.ts';
import { ask, post } from '../../../support/raw-client.ts';

const CHAT = { model: 'chat', messages: [{ role: 'user', content: 'hi' }] };
const PATH = '/v1/chat/completions';
const gpu = await fakeLlama(silent);
const cpu = await fakeLlama(silent);
const closers: (() => Promise<void>)[] = [];

after(async () => {
  for (const close of closers) await close();
  await gpu.close();
  await cpu.close();
});

const SETTINGS = {
  bodyLimit: 1_000_000,
  connectMs: 250,
  stallMs: 60_000,
  firstToken: 'auto',
  keepaliveMs: 10_000,
  keysChecked: false,
  resume: true,
} as const;

async function home() {
  const ports: Partial<Record<Placement, number>> = { gpu: gpu.port, cpu: cpu.port };
  const facts: FactBody[] = [];
  const waiters = makeWaiters();
  const nothing = () => {};
  const dead = {
    running: false,
    exitCode: 139,
    oomKilled: false,
    killedOutside: false,
    error: null,
    log: [],
  };
  const loop: Loop = makeLoop({
    clock: systemClock,
    publish: (told) => facts.push(...told),
    executors: {
      ...waiters.executors,
      identify_body: ({ request }) =>
        loop.submit({ type: 'body_identified', request, body: waiters.bodyHash(request) }),
      start_instance: ({ plan }) =>
        loop.submit({
          type: 'instance_ready',
          instance: plan.instance,
          container: `c-${plan.instance}`,
          measured: { placement: plan.profile.placement, ram: null, vram: null },
        }),
      adopt_instance: nothing,
      remove_instance({ instance, examine }) {
        if (examine) loop.submit({ type: 'instance_exited', instance, evidence: dead });
        loop.submit({ type: 'instance_removed', instance, memoryBack: true });
      },
      close_connections: nothing,
      examine_instance: nothing,
      remove_container: nothing,
      estimate_need: ({ profile: { hash } }) =>
        loop.submit({ type: 'need_estimated', hash, need: need(GIB) }),
      count_tokens: ({ request, instance }) =>
        waiters.countTokens(request, instance, (tokens) =>
          loop.submit({ type: 'tokens_counted', request, tokens }),
        ),
      sample_host: () => loop.submit({ type: 'host_sampled', host: host(12 * GIB) }),
      stopped: nothing,
    },
  });
  const gate = makeGate({ loop, waiters, newest: () => 0, clock: systemClock, version: 'test' });
  const profiles = {
    gpu: profile('chat', 'gpu', { parallel: 1 }),
    cpu: profile('chat', 'cpu', { parallel: 1 }),
  };
  loop.submit({ type: 'engine_reachable', engine: 'local' });
  loop.submit({ type: 'containers_observed', engine: 'local', containers: [] });
  loop.submit({ type: 'configured', why: 'start', policy: policy([model('chat', { profiles })]) });
  const api = modelApi({
    gate,
    targetOf(instance) {
      const found = loop.state.instances.get(instance);
      const port = found === undefined ? undefined : ports[found.profile.placement];
      if (found === undefined || port === undefined) return undefined;
      return { host: '127.0.0.1', port, key: 'k', model: 'chat', profile: found.profile.hash };
    },
    speedOf: () => UNKNOWN_SPEED,
    settings: () => SETTINGS,
    catalog: () => gate.view().models,
    clock: systemClock,
    metrics: { attempt() {}, request() {} },
    log: { debug() {} },
  });
  const server = createServer((req, res) => api.handler(req, res, () => res.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    api.close();
    loop.close();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, loop, facts };
}

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
  while (loop.state.requests.size < 3) await new Promise((resolve) => setImmediate(resolve));
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
