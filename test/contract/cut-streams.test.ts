/** Streams of each path that were cut, on real llama-servers: each fails in its own form, none is sent twice. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { ANEW, type Bench, type BenchOptions, forwardBench, isStale } from '../support/forward-bench.ts';
import { ask } from '../support/raw-client.ts';
import { BEGUN_CALL, TOOL_TEMPLATE } from '../support/tool-template.ts';
import {
  eventually,
  generations,
  KEY,
  llamaServers,
  ready,
  type Server,
  type Servers,
} from './llama-servers.ts';

const SAY = { model: 'chat', stream: true, temperature: 0, max_tokens: 12, ignore_eos: true };
const MESSAGES = [{ role: 'user', content: 'hello' }];

interface Form {
  readonly path: string;
  readonly body: object;
  /** What a whole stream ends with. */
  readonly endMark: RegExp;
  /** The error event at the end. */
  readonly error: RegExp;
}

const FORMS: readonly Form[] = [
  {
    path: '/v1/completions',
    body: { ...SAY, prompt: 'The cat' },
    endMark: /\ndata: \[DONE\]\n\n$/,
    error: /\n\ndata: \{"error":\{[^\n]*"code":"failed_after_output"[^\n]*\}\}\n\n$/,
  },
  {
    path: '/v1/responses',
    body: { ...SAY, max_output_tokens: 12, input: 'hello' },
    endMark: /\nevent: response\.completed\ndata: [^\n]*\n\n$/,
    error: /\n\nevent: error\ndata: \{"type":"error","code":"failed_after_output",[^\n]*\}\n\n$/,
  },
  {
    path: '/v1/messages',
    body: { ...SAY, messages: MESSAGES },
    endMark: /\nevent: message_stop\ndata: [^\n]*\n\n$/,
    error:
      /\n\nevent: error\ndata: \{"type":"error","error":\{[^\n]*"code":"failed_after_output"[^\n]*\}\n\n$/,
  },
];

/** As DeepSeek R1 does it: each answer begins with thoughts. */
const THINKING_TEMPLATE =
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}{{ m.content + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}";

let servers: Servers;
let cpu: Server;
let proxy: CuttingProxy;
/** Before a first instance that thinks. */
let thinking: CuttingProxy;
/** Before the second instance: it cuts nothing, and knows what was asked. */
let second: CuttingProxy;
let bench: Bench;
let thinkingBench: Bench;

/** A failure is answered once: what nobody has seen is begun anew, and text goes on. */
const verdict: NonNullable<BenchOptions['onFailure']> = ({ outcomes }, outcome) => {
  if (isStale(outcome)) return ANEW;
  const first = outcomes.filter((one) => !isStale(one)).length === 1;
  return first && outcome.forwarded !== 'more'
    ? { do: 'grant', instance: 1, reason: 'reset' }
    : { do: 'refuse', refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null } };
};

before(async () => {
  servers = await llamaServers('cut-streams');
  const start = (name: string, template: string) =>
    servers.start(name, { env: { LLAMA_ARG_CHAT_TEMPLATE: template } });
  const [gpu, thinker, heir] = await Promise.all([
    start('gpu', TOOL_TEMPLATE),
    start('thinker', THINKING_TEMPLATE),
    start('cpu', TOOL_TEMPLATE),
  ]);
  cpu = heir;
  await Promise.all([gpu, thinker, cpu].map(ready));
  const before = ({ host }: Server) => cuttingProxy(host, 8080);
  [proxy, thinking, second] = await Promise.all([before(gpu), before(thinker), before(cpu)]);
  const common = { key: KEY, onFailure: verdict };
  bench = await forwardBench({ ports: [proxy.port, second.port], ...common });
  thinkingBench = await forwardBench({ ports: [thinking.port, second.port], ...common });
});

after(async () => {
  await Promise.all([bench.close(), thinkingBench.close()]);
  await Promise.all([proxy, thinking, second].map((one) => one.close()));
  await servers.removeAll();
});

for (const { path, body, endMark, error } of FORMS) {
  describe(path, { timeout: 600_000 }, () => {
    test('ends with its own mark', async () => {
      proxy.cutAfter(null);
      assert.match((await ask(bench.url + path, body)).text(), endMark);
    });

    test('that is cut after text ends with an error in its own form, and without the mark', async () => {
      for (const events of [1, 3]) {
        proxy.cutAfter(events);
        const reply = await ask(bench.url + path, body);
        assert.equal(reply.how, 'whole');
        assert.equal(reply.headers['llamastead-placement'], 'gpu');
        assert.match(reply.text(), error);
        assert.doesNotMatch(reply.text(), endMark);
      }
    });

    test('that is cut before any text is begun anew, unseen', async () => {
      proxy.cutAfter(null);
      const whole = (await ask(bench.url + path, body)).text();
      proxy.cutAfter(0);
      const reply = await ask(bench.url + path, body);
      assert.equal(reply.headers['llamastead-placement'], 'cpu');
      assert.match(reply.text(), endMark);
      const names = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
      assert.equal(new Set(names(reply.text())).size, new Set(names(whole)).size);
    });
  });
}

describe('a tool call', { timeout: 600_000 }, () => {
  const calls = (text: string) => text.split('"name":"light_on"').length - 1;
  const parameters = {
    type: 'object',
    properties: { rooms: { type: 'array', items: { type: 'boolean' }, minItems: 4, maxItems: 4 } },
    required: ['rooms'],
  };
  const light = { name: 'light_on', description: 'Switches the lights of rooms on' };
  const messages = [...MESSAGES, { role: 'assistant', content: BEGUN_CALL }];
  const common = { model: 'chat', stream: true, temperature: 0, max_tokens: 80, messages };
  const forms: readonly [string, object][] = [
    [
      '/v1/chat/completions',
      {
        ...common,
        tools: [{ type: 'function', function: { ...light, parameters } }],
        tool_choice: 'required',
      },
    ],
    [
      '/v1/messages',
      { ...common, tools: [{ ...light, input_schema: parameters }], tool_choice: { type: 'any' } },
    ],
  ];
  for (const [path, body] of forms) {
    test(`that was cut in its middle is never made a second time: ${path}`, async () => {
      const before = bench.tickets.length;
      proxy.cutAtText('light_on');
      const reply = await ask(bench.url + path, body);
      assert.equal(calls(reply.text()), 1, reply.text());
      assert.match(reply.text(), /"code":"failed_after_output"[^\n]*\n\n$/);
      const last = bench.tickets[before]?.outcomes.at(-1);
      assert.equal(last?.kind === 'failed' && last.forwarded, 'more');
    });
  }
});

describe('an answer of a chat that is more than plain text', { timeout: 600_000 }, () => {
  const path = '/v1/chat/completions';
  const schema = { type: 'object', properties: { mood: { enum: ['calm', 'gay'] } }, required: ['mood'] };
  const light = { name: 'light_on', description: 'Switches the light on', parameters: { type: 'object' } };
  const tools = [{ type: 'function', function: light }];
  const kinds: readonly [string, object][] = [
    ['tools, though none is called', { tools }],
    ['tools that may not be called', { tools, tool_choice: 'none' }],
    ['functions', { functions: [light] }],
    ['a grammar', { grammar: 'root ::= ("the " | "garden ")+' }],
    ['a schema', { json_schema: schema }],
    ['JSON', { response_format: { type: 'json_object' } }],
    ['JSON of a schema', { response_format: { type: 'json_schema', json_schema: { name: 'r', schema } } }],
    ['two answers', { n: 2 }],
    ['probabilities', { logprobs: true }],
    ['probabilities of others', { logprobs: true, top_logprobs: 2 }],
    ["probabilities in llama-server's own words", { n_probs: 2 }],
    ['an echo', { echo: true }],
  ];
  const text = /"content":"[^"]/;
  const thoughts = /"reasoning_content":"[^"]/;
  const asked = () => second.seen.map(({ what }) => what).filter((what) => what !== 'cut');

  async function cutAnswer({ url }: Bench, body: object): Promise<string> {
    const reply = await ask(url + path, { ...SAY, messages: MESSAGES, ...body });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['llamastead-placement'], 'gpu');
    return reply.text();
  }

  async function isNotContinued(on: Bench, body: object, ...seen: readonly RegExp[]): Promise<void> {
    const before = asked();
    const raw = await cutAnswer(on, body);
    for (const piece of seen) assert.match(raw, piece);
    assert.match(raw, /\n\ndata: \{"error":\{[^\n]*"code":"failed_after_output"[^\n]*\}\}\n\n$/);
    assert.doesNotMatch(raw, /"finish_reason":"|\[DONE\]|: llamastead attempt/);
    // Neither told to go on, nor asked whether it could.
    assert.deepEqual(asked(), before);
  }

  for (const [name, body] of kinds) {
    test(`is not continued: ${name}`, () => {
      proxy.cutAfter(1);
      return isNotContinued(bench, body, text);
    });
  }

  test('is not continued: thoughts', () => {
    thinking.cutAtText('"reasoning_content":"');
    return isNotContinued(thinkingBench, {}, thoughts);
  });

  test('is not continued: text after thoughts', () => {
    thinking.cutAfter(1);
    return isNotContinued(thinkingBench, { thinking_budget_tokens: 4 }, thoughts, text);
  });

  test('but plain text is', async () => {
    const before = asked();
    proxy.cutAfter(1);
    const raw = await cutAnswer(bench, {});
    assert.match(raw, /: llamastead attempt=2 placement=cpu reason=reset\n\n/);
    assert.ok(raw.endsWith('data: [DONE]\n\n'));
    assert.ok(asked().slice(before.length).includes(path));
  });

  test('of all that, the second server itself knows only what it was asked', () =>
    eventually(async () => {
      const answers = asked().filter((one) => one.startsWith('/v1/'));
      return (await generations(servers, cpu)).begun === answers.length;
    }));
});
