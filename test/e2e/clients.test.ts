/** Client libraries that people use, unchanged and over the wire, each through a failover. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TOOL_TEMPLATE } from '../support/tool-template.ts';
import type { ApiClient } from './clients/client.ts';
import { curl } from './clients/curl.ts';
import { langchain } from './clients/langchain.ts';
import { openaiJs } from './clients/openai-js.ts';
import { openaiPython } from './clients/openai-python.ts';
import { vercelAi } from './clients/vercel-ai.ts';
import { type Controller, startController } from './support/controller.ts';

const MAKERS: Record<string, (url: string) => ApiClient | Promise<ApiClient>> = {
  'openai-js': openaiJs,
  'openai-python': openaiPython,
  'vercel-ai': vercelAi,
  langchain,
  curl,
};

/** Each answer of each client moves: by a GPU that is not there, or by one that dies in the answer. */
const TASKS = ['whole', 'stream', 'tool', 'structured'] as const;

let home: Controller;

before(async () => {
  const env = { LLAMA_ARG_CHAT_TEMPLATE: TOOL_TEMPLATE };
  const tiny = { file: 'tiny.gguf', context: 2048, parallel: 1, env };
  const names = Object.keys(MAKERS);
  const lost = names.flatMap((name) =>
    TASKS.map((task) => [`${name}-${task}`, { ...tiny, gpu: { devices: ['gone'] } }]),
  );
  const cut = names.map((name) => [`${name}-cut`, tiny]);
  home = await startController('e2e-clients', {
    gpus: [
      { name: 'bench', kind: 'vulkan', memory: 'shared', env: { GGML_VK_VISIBLE_DEVICES: '0' } },
      { name: 'gone', kind: 'vulkan', memory: 'shared', devices: ['Vulkan7'] },
    ],
    failover: { returnAfter: '60s' },
    models: Object.fromEntries([...lost, ...cut]),
  });
});

after(() => home.close());

// Each has models of its own.
describe('through a failover', { concurrency: 2 }, () => {
  for (const [name, make] of Object.entries(MAKERS)) {
    test(`${name}: every kind of answer comes`, async () => {
      const client = await make(home.url);
      assert.notEqual(await client.whole(`${name}-whole`), '');
      assert.notEqual(await client.stream(`${name}-stream`, () => {}), '');
      const call = (await client.tool(`${name}-tool`)) as { lamp: string; on: boolean };
      assert.match(call.lamp, /^(kitchen|hall)$/);
      assert.equal(typeof call.on, 'boolean');
      const reply = (await client.structured(`${name}-structured`)) as { mood: string };
      assert.match(reply.mood, /^(calm|gay)$/);
      const tried = TASKS.map((task) => `${name}-${task}`);
      const moved = home
        .facts()
        .filter(({ type, model = '' }) => type === 'failover' && tried.includes(model))
        .map(({ model }) => model);
      assert.deepEqual(moved, tried);
    });

    test(`${name}: a stream that was cut goes on`, async () => {
      const client = await make(home.url);
      const model = `${name}-cut`;
      const loaded = await home.post(`/admin/models/${model}/load?wait=1`);
      assert.equal(loaded.status, 200, await loaded.text());
      const victim = await home.container(model, 'gpu');
      let killed: Promise<string> | null = null;
      const text = await client.stream(model, () => {
        killed = home.docker('kill', victim);
      });
      assert.notEqual(text, '');
      assert.ok(killed);
      await killed;
      const failover = await home.event('failover', (fact) => fact.model === model);
      assert.equal(failover.to, 'cpu');
    });
  }
});
