/** A stream whose GPU dies after its first text, on real containers and through the whole program. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sendChat, streamedText } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';

const LIMIT = { timeout: 600_000 };
const shared = { file: 'tiny.gguf', context: 2048, parallel: 1, gpu: { context: 2048 } };

let home: Controller;

before(async () => {
  home = await startController('e2e-resume', {
    failover: { returnAfter: '300s' },
    models: {
      tiny: shared,
      never: shared,
      'two-files': { ...shared, cpu: { file: 'smollm2-135m-instruct-q4_1.gguf' } },
    },
  });
});

after(() => home.close());

/** Streams a long text, kills its instance after the first words, and gives all that came. */
async function killed(model: string, id: string, more: object = {}): Promise<string> {
  const loaded = await home.post(`/admin/models/${model}/load?wait=1`);
  assert.equal(loaded.status, 200, await loaded.text());
  const victim = await home.container(model, 'gpu');
  const response = await sendChat(home, { model, tokens: 600, stream: true, id, ...more });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('llamastead-placement'), 'gpu');
  let text = '';
  let kill: Promise<string> | null = null;
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (kill === null && streamedText(text.slice(0, text.lastIndexOf('\n') + 1)).length > 20) {
      kill = home.docker('kill', victim);
    }
  }
  await kill;
  return text;
}

// Each has a model of its own.
describe('a stream whose GPU dies', { ...LIMIT, concurrency: true }, () => {
  test('goes on at the CPU, as one answer under one id, and the failover is told once', async () => {
    const raw = await killed('tiny', 'resume-1');
    assert.equal(raw.split(': llamastead attempt=2 placement=cpu reason=').length, 2, raw.slice(-500));
    assert.equal(raw.split('data: [DONE]\n\n').length, 2);
    assert.ok(raw.endsWith('data: [DONE]\n\n'));
    assert.equal(raw.split('"role":').length, 2);
    const chunks = [...raw.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    assert.ok(chunks.some(({ choices }) => choices?.[0]?.finish_reason === 'length'));
    const failover = await home.event('failover', ({ model }) => model === 'tiny');
    assert.deepEqual(failover.requestIds, ['resume-1']);
    assert.equal(failover.to, 'cpu');
  });

  test('ends with an error event where the CPU has another model file', async () => {
    const raw = await killed('two-files', 'resume-2');
    assert.match(raw, /"code":"failed_after_output"[^\n]*\n\n$/);
    assert.doesNotMatch(raw, /llamastead attempt/);
    const failed = await home.event('request_failed', ({ model }) => model === 'two-files');
    assert.equal(failed.requestId, 'resume-2');
  });

  test('ends with an error event where the client wants no second attempt', async () => {
    const raw = await killed('never', 'resume-3', { headers: { 'Llamastead-Replay': 'never' } });
    assert.match(raw, /"code":"failed_after_output"[^\n]*\n\n$/);
    assert.doesNotMatch(raw, /llamastead attempt/);
  });
});
