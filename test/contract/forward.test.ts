/** The model API on real llama-servers: what the tests on the fake one take for granted of it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Bench, type BenchOptions, forwardBench, type Verdict } from '../support/forward-bench.ts';
import { freeze } from '../support/freeze.ts';
import { ask, post } from '../support/raw-client.ts';
import {
  busySlots,
  eventually,
  freeSlots,
  KEY,
  llamaServers,
  ready,
  type Server,
  type Servers,
} from './llama-servers.ts';

const HI = {
  model: 'chat',
  temperature: 0,
  seed: 1,
  max_tokens: 12,
  messages: [{ role: 'user', content: 'hi' }],
};
const LONG = { ...HI, max_tokens: 1500, ignore_eos: true, stream: true };
const CHAT = '/v1/chat/completions';

let servers: Servers;
let gpu: Server;
let cpu: Server;
const benches: Bench[] = [];

before(async () => {
  servers = await llamaServers('forward-contract');
  [gpu, cpu] = await Promise.all([servers.start('gpu'), servers.start('cpu')]);
  await Promise.all([ready(gpu), ready(cpu)]);
});

after(async () => {
  for (const bench of benches) await bench.close();
  await servers.removeAll();
});

async function home(servers: readonly Server[], options: Partial<BenchOptions> = {}): Promise<Bench> {
  const bench = await forwardBench({
    ports: servers.map(() => 8080),
    hosts: servers.map(({ host }) => host),
    key: KEY,
    ...options,
  });
  benches.push(bench);
  return bench;
}

const toCpu: Verdict = { do: 'grant', instance: 1, reason: 'reset' };

/** Ids, times and speeds differ from run to run; all other bytes must not. */
function settled(text: string): string {
  return text
    .replaceAll(/"(id|item_id)":"(chatcmpl-|resp_|msg_|cmpl-)\w+"/g, '"$1":"$2x"')
    .replaceAll(/"(created|created_at|completed_at)":\d+/g, '"$1":0')
    .replaceAll(/"timings":\{[^}]*\}/g, '"timings":{}')
    .replaceAll(/"(cached_tokens|cache_read_input_tokens|input_tokens)":\d+/g, '"$1":0');
}

const PROMPTS: readonly (readonly [path: string, body: object])[] = [
  [CHAT, HI],
  [CHAT, { ...HI, stream: true }],
  [CHAT, { ...HI, stream: true, stream_options: { include_usage: true } }],
  [CHAT, { ...HI, stream: true, n: 2 }],
  ['/v1/completions', { model: 'chat', temperature: 0, max_tokens: 12, prompt: 'The cat' }],
  ['/v1/completions', { model: 'chat', temperature: 0, max_tokens: 12, prompt: '고양이', stream: true }],
  ['/v1/responses', { model: 'chat', temperature: 0, max_output_tokens: 12, input: 'hi', stream: true }],
  ['/v1/messages', { ...HI, stream: true }],
  ['/v1/messages', HI],
];

for (const [path, body] of PROMPTS) {
  test(`${path} gives the bytes of llama-server: ${JSON.stringify(body).slice(0, 90)}`, async () => {
    const bench = await home([gpu]);
    const direct = await ask(`http://${gpu.host}:8080${path}`, body, { Authorization: `Bearer ${KEY}` });
    const ours = await ask(bench.url + path, body, { Authorization: 'Bearer of-the-client' });
    assert.equal(direct.status, 200, direct.text());
    assert.equal(settled(ours.text()), settled(direct.text()));
    assert.equal(ours.headers['content-type'], direct.headers['content-type']);
    assert.deepEqual(bench.tickets[0]?.outcomes, [{ kind: 'completed' }]);
  });
}

test('prompt progress of a long prompt comes and is taken out; timings are learned', async () => {
  const bench = await home([gpu]);
  const content = Array.from({ length: 250 }, (_, i) => `word${i}`).join(' ');
  const body = { ...HI, stream: true, messages: [{ role: 'user', content }] };
  const reply = await ask(bench.url + CHAT, body);
  assert.doesNotMatch(reply.text(), /prompt_progress/);
  assert.match(reply.text(), /\[DONE\]\n\n$/);
  const [measured] = bench.attempts;
  assert.ok((measured?.promptTokens ?? 0) > 500 && (measured?.tokens ?? 0) > 0, JSON.stringify(measured));
});

const TOOL = { type: 'object', properties: { room: { type: 'string' } } };
const CALL = { type: 'function_call', call_id: 'c1', name: 'warm', arguments: '{"room": "hall"}' };

/** Prompts in each path's own form, and how many tokens the answer says that it had. */
const COUNTED: readonly (readonly [path: string, body: object])[] = [
  [CHAT, { messages: [{ role: 'system', content: 'Be brief.' }, ...HI.messages] }],
  ['/v1/completions', { prompt: 'The cat sat on the mat.' }],
  ['/v1/messages', { system: 'Be brief.', messages: HI.messages, max_tokens: 4 }],
  ['/v1/responses', { input: 'The cat sat on the mat.', instructions: 'Be brief.' }],
  [
    '/v1/responses',
    {
      stream: true,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Is it warm?' }] },
        CALL,
        { type: 'function_call_output', call_id: 'c1', output: '21 degrees' },
      ],
      tools: [{ type: 'function', name: 'warm', description: 'How warm a room is', parameters: TOOL }],
    },
  ],
];

for (const [path, prompt] of COUNTED) {
  test(`a waiting prompt of ${path} has as many tokens as are then read: ${JSON.stringify(prompt).slice(0, 60)}`, async () => {
    const bench = await home([gpu], { onArrival: () => ({ do: 'wait' }) });
    const limits = { max_tokens: 4, max_output_tokens: 4 };
    const reply = ask(bench.url + path, { model: 'chat', ...limits, ...prompt });
    const ticket = await bench.ticket(0);
    const tokens = await ticket.count(0);
    ticket.obey({ do: 'grant', instance: 0 });
    assert.equal(tokens, promptTokens((await reply).text()));
  });
}

function promptTokens(answer: string): number {
  const told = (name: string) => Number(new RegExp(`"${name}":(\\d+)`).exec(answer)?.[1] ?? 0);
  return told('prompt_tokens') + told('input_tokens') + told('cache_read_input_tokens');
}

/** What the model says ends with this word, or, on a path that takes no grammar, with its first sentence. */
const SHORT = { ...HI, max_tokens: 200, grammar: 'root ::= "warm"', stop_sequences: ['.'] };
const ENDINGS: readonly (readonly [path: string, more: object])[] = [
  [CHAT, {}],
  [CHAT, { stream: true }],
  [CHAT, { stream: true, stream_options: { include_usage: true } }],
  ['/v1/completions', { prompt: 'The cat' }],
  ['/v1/completions', { prompt: 'The cat', stream: true }],
  ['/v1/messages', {}],
  ['/v1/messages', { stream: true }],
];

for (const [path, more] of ENDINGS) {
  test(`${path} tells the length of an answer that the model ended: ${JSON.stringify(more)}`, async () => {
    const bench = await home([gpu]);
    const asked = (limit: object) => ask(bench.url + path, { ...SHORT, ...more, ...limit });
    for (const limit of [{}, { max_tokens: 1 }]) assert.equal((await asked(limit)).status, 200);
    await bench.outcome(1);
    const [whole, cut] = bench.lengths;
    assert.ok(typeof whole === 'number' && whole > 1 && whole < 200, String(whole));
    assert.equal(cut, null);
  });
}

test('an answer to an alias carries it in every chunk', async () => {
  const bench = await home([gpu]);
  const reply = await ask(bench.url + CHAT, { ...HI, model: 'gpt-4o-mini', stream: true });
  const names = [...reply.text().matchAll(/"model":"([^"]*)"/g)].map(([, name]) => name);
  assert.ok(names.length > 3);
  assert.deepEqual([...new Set(names)], ['gpt-4o-mini']);
});

test('streams and whole answers in turn meet no stale connection', async () => {
  const bench = await home([gpu]);
  for (let i = 0; i < 30; i += 1) {
    const reply = await ask(bench.url + CHAT, { ...HI, max_tokens: 2, stream: i % 3 === 0 });
    assert.equal(reply.status, 200);
  }
  const told = bench.tickets.flatMap(({ outcomes }) => outcomes);
  assert.ok(
    told.every(({ kind }) => kind === 'completed'),
    JSON.stringify(told),
  );
});

test('when the client leaves, the slot is free', async () => {
  const bench = await home([gpu]);
  for (const stream of [true, false]) {
    const sent = post(bench.url + CHAT, { ...LONG, stream, max_tokens: 3000 });
    await eventually(async () => (await busySlots(gpu)) === 1);
    sent.leave();
    await freeSlots(servers, gpu);
  }
  assert.deepEqual(
    bench.tickets.map(({ outcomes }) => outcomes),
    [[{ kind: 'client_gone', finished: false }], [{ kind: 'client_gone', finished: false }]],
  );
});

test("llama-server's own errors: too long a prompt passes on, a wrong key is told", async () => {
  const bench = await home([gpu], { onFailure: () => ({ do: 'pass_on' }) });
  const content = 'word '.repeat(6000);
  for (const stream of [true, false]) {
    const reply = await ask(bench.url + CHAT, { ...HI, stream, messages: [{ role: 'user', content }] });
    assert.equal(reply.status, 400);
    assert.equal(JSON.parse(reply.text()).error.type, 'exceed_context_size_error');
  }
  const wrong = await home([gpu], { key: 'wrong', onFailure: () => ({ do: 'pass_on' }) });
  assert.equal((await ask(wrong.url + CHAT, HI)).status, 401);
});

test('while the model loads, that is told and nothing else', async () => {
  // So slow that the load is still going on when it is asked; at full speed again once it was seen.
  const fresh = await servers.start('loading', { limits: ['--cpus', '0.1'] });
  let faster: Promise<string> | null = null;
  const bench = await home([fresh], {
    onFailure(ticket, { failure }) {
      assert.ok(failure.kind === 'refused' || failure.kind === 'loading', JSON.stringify(failure));
      if (failure.kind === 'loading') faster ??= servers.docker.run(['update', '--cpus', '2', fresh.name]);
      setTimeout(() => ticket.obey({ do: 'grant', instance: 0 }), 20);
      return { do: 'wait' };
    },
  });
  const reply = await ask(bench.url + CHAT, HI);
  assert.equal(reply.status, 200);
  const kinds = new Set(
    bench.tickets[0]?.outcomes.map((outcome) =>
      outcome.kind === 'failed' ? outcome.failure.kind : outcome.kind,
    ),
  );
  assert.ok(kinds.has('completed') && kinds.has('loading'), [...kinds].join());
  await faster;
  await servers.remove(fresh);
});

test('a kill before the first content is replayed unseen, one after it ends the stream with an error', async () => {
  for (const seen of [false, true]) {
    const victim = await servers.start(`victim-${seen}`);
    await ready(victim);
    const bench = await home([victim, cpu], {
      onFailure: (_, { forwarded }) =>
        forwarded === 'nothing'
          ? toCpu
          : { do: 'refuse', refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null } },
    });
    const sent = post(bench.url + CHAT, { ...LONG, stream: seen });
    if (seen) await (await sent.reply).until('"content":"');
    else await eventually(async () => (await busySlots(victim)) === 1);
    await servers.docker.run(['kill', victim.name]);
    const reply = await sent.reply;
    assert.equal(await reply.end, 'whole');
    const [outcome] = bench.tickets[0]?.outcomes ?? [];
    assert.deepEqual(outcome, {
      kind: 'failed',
      failure: { kind: 'reset', reused: false },
      forwarded: seen ? 'content' : 'nothing',
    });
    if (seen) assert.match(reply.text(), /failed_after_output[^\n]*\n\n$/);
    else assert.equal(JSON.parse(reply.text()).choices[0].finish_reason, 'length');
    assert.equal(reply.headers['llamastead-placement'], seen ? 'gpu' : 'cpu');
    await servers.remove(victim);
  }
});

test('a frozen instance misses the first-token deadline; closing its connections is quicker', async () => {
  const victim = await servers.start('frozen');
  await ready(victim);
  const settings = { firstToken: 2_000 };
  const bench = await home([victim, cpu], { settings, onFailure: () => toCpu });
  await freeze((...command) => servers.docker.run(command), victim.name);
  const slow = await ask(bench.url + CHAT, { ...HI, stream: true });
  assert.equal(slow.headers['llamastead-placement'], 'cpu');
  const [missed] = bench.tickets[0]?.outcomes ?? [];
  assert.deepEqual(missed?.kind === 'failed' && missed.failure, { kind: 'first_token_deadline' });

  const patient = await home([victim, cpu], { onFailure: () => toCpu });
  const sent = post(patient.url + CHAT, { ...HI, stream: true });
  await patient.ticket(0);
  patient.api.closeConnections('0');
  const reply = await sent.reply;
  assert.equal(await reply.end, 'whole');
  assert.equal(reply.headers['llamastead-placement'], 'cpu');
  await servers.remove(victim);
});

test('an address that swallows connections is refused within the connect deadline', async () => {
  const victim = await servers.start('gone');
  await servers.remove(victim);
  let refusedAt = Number.POSITIVE_INFINITY;
  const bench = await home([victim, cpu], {
    settings: { connectMs: 250 },
    onFailure: () => {
      refusedAt = performance.now();
      return toCpu;
    },
  });
  const began = performance.now();
  const reply = await ask(bench.url + CHAT, HI);
  assert.equal(reply.status, 200);
  // A tenth of it; the kernel itself gives up after 3 s.
  assert.ok(refusedAt - began < 2_500, `${refusedAt - began} ms`);
  const [outcome] = bench.tickets[0]?.outcomes ?? [];
  assert.deepEqual(outcome?.kind === 'failed' && outcome.failure, { kind: 'refused' });
});
