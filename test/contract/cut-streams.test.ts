/** Streams of each path that were cut, on real llama-servers: each fails in its own form, none is sent twice. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type CuttingProxy, cuttingProxy } from '../support/cutting-proxy.ts';
import { ANEW, type Bench, forwardBench, isStale } from '../support/forward-bench.ts';
import { ask } from '../support/raw-client.ts';
import { BEGUN_CALL, TOOL_TEMPLATE } from '../support/tool-template.ts';
import { KEY, llamaServers, ready, type Server, type Servers } from './llama-servers.ts';

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

let servers: Servers;
let gpu: Server;
let proxy: CuttingProxy;
let bench: Bench;

before(async () => {
  servers = await llamaServers('cut-streams');
  const options = { env: { LLAMA_ARG_CHAT_TEMPLATE: TOOL_TEMPLATE, LLAMA_ARG_N_PARALLEL: '1' } };
  gpu = await servers.start('gpu', options);
  const cpu = await servers.start('cpu', options);
  await Promise.all([ready(gpu), ready(cpu)]);
  proxy = await cuttingProxy(gpu.host, 8080);
  bench = await forwardBench({
    ports: [proxy.port, 8080],
    hosts: ['127.0.0.1', cpu.host],
    key: KEY,
    onFailure(_, outcome) {
      if (isStale(outcome)) return ANEW;
      return outcome.forwarded === 'more'
        ? { do: 'refuse', refusal: { code: 'failed_after_output', message: 'it died', retryAfter: null } }
        : { do: 'grant', instance: 1, reason: 'reset' };
    },
  });
});

after(async () => {
  await bench.close();
  await proxy.close();
  await servers.removeAll();
});

for (const { path, body, endMark, error } of FORMS) {
  describe(path, { timeout: 200_000 }, () => {
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

describe('a tool call', { timeout: 300_000 }, () => {
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
