/**
 * A CPU that says nothing: its llama-server is frozen by a signal, of which Docker knows nothing, or it is only slow.
 * No request names a deadline here.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { chat, sendChat, streamedText } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

const LIMIT = { timeout: 600_000 };
const shared = { file: 'tiny.gguf', context: 2048, parallel: 2, placements: ['cpu'] };
/** A twentieth of a core reads it for longer than a minute. */
const LONG = 'All that is slow is not broken. '.repeat(56);

let home: Controller;

before(async () => {
  home = await startController('e2e-frozen', {
    failover: { returnAfter: '1s', silence: '3s' },
    models: { first: shared, middle: shared, never: shared, slow: shared },
    log: { level: 'debug' },
  });
});

after(() => home.close());

async function loaded(model: string): Promise<string> {
  const response = await home.post(`/admin/models/${model}/load?wait=1`);
  assert.equal(response.status, 200, await response.text());
  return home.container(model, 'cpu');
}

/** Process of its llama-server on this machine, where the bench's engine runs. */
async function programOf(container: string): Promise<number> {
  const processes = await home.docker('top', container, '-o', 'pid,comm');
  const [, pid] = /^\s*(\d+)\s+llama-server/m.exec(processes) ?? [];
  assert.ok(pid !== undefined, processes);
  return Number(pid);
}

async function freeze(container: string): Promise<void> {
  process.kill(await programOf(container), 'SIGSTOP');
}

/** How often its instance answered when it was asked. */
function signsOfLife(model: string): number {
  const lines = home.log().split('\n');
  return lines.filter((line) => line.includes(`"${model}"`) && line.includes('gave a sign of life')).length;
}

async function toldFrozen(model: string) {
  const crashed = await home.event('backend_crashed', (fact) => fact.model === model);
  assert.deepEqual([crashed.placement, crashed.reason], ['cpu', 'frozen']);
}

// Each has a model of its own.
describe('a CPU that is frozen by a signal', { ...LIMIT, concurrency: true }, () => {
  test('before the first byte: the requests are answered by a new instance', async () => {
    await freeze(await loaded('first'));
    const answers = await Promise.all([
      chat(home, { model: 'first' }),
      chat(home, { model: 'first', stream: true }),
    ]);
    for (const { status, attempts, raw } of answers) {
      assert.equal(status, 200, raw);
      assert.equal(attempts, '2');
    }
    assert.ok(answers[1]?.raw.endsWith('data: [DONE]\n\n'), answers[1]?.raw);
    await toldFrozen('first');
  });

  /** Streams a long text, slowly, freezes its instance after the first words, and gives all that came. */
  async function frozenMidway(model: string, headers: Record<string, string> = {}): Promise<string> {
    const victim = await loaded(model);
    const program = await programOf(victim);
    await home.docker('update', '--cpus', '0.2', victim);
    const response = await sendChat(home, { model, tokens: 1500, stream: true, headers });
    assert.equal(response.status, 200);
    let text = '';
    let frozen = false;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const begun = streamedText(text.slice(0, text.lastIndexOf('\n') + 1)).length > 20;
      if (!begun || frozen) continue;
      frozen = true;
      process.kill(program, 'SIGSTOP');
    }
    return text;
  }

  test('in the middle of a stream: the text goes on at a new instance', async () => {
    const raw = await frozenMidway('middle');
    assert.match(raw, /: llamastead attempt=2 placement=cpu reason=frozen\n/);
    assert.ok(raw.endsWith('data: [DONE]\n\n'), raw.slice(-500));
    await toldFrozen('middle');
  });

  test('in the middle of a stream that must not go on: it ends with an error event', async () => {
    const raw = await frozenMidway('never', { 'Llamastead-Replay': 'never' });
    assert.match(raw, /"code":"failed_after_output"[^\n]*\n\n$/);
    const failed = await home.event('request_failed', ({ model }) => model === 'never');
    assert.match(failed.detail ?? '', /froze, and gave no sign of life/);
    await toldFrozen('never');
  });
});

test('a CPU that is slow is waited for while it gives signs of life', LIMIT, async () => {
  const container = await loaded('slow');
  await home.docker('update', '--cpus', '0.05', container);
  let over = false;
  const pending = chat(home, { model: 'slow', prompt: LONG, id: 'slow-1' }).finally(() => {
    over = true;
  });
  await running(home, 'slow-1');
  // For longer than it takes to call it frozen.
  await until(() => signsOfLife('slow') >= 3);
  assert.equal(over, false, 'it was slow enough');
  await home.docker('update', '--cpus', '2', container);
  const { status, attempts, raw } = await pending;
  assert.equal(status, 200, raw);
  assert.equal(attempts, '1');
  assert.deepEqual(
    home.facts().filter(({ model, type }) => model === 'slow' && type === 'backend_crashed'),
    [],
  );
});
