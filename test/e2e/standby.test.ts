/** The CPU stands by while the GPU serves: as a file in the page cache, or loaded. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../support/until.ts';
import { chat, sendChat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

let home: Controller;

before(async () => {
  const shared = { file: 'tiny.gguf', context: 1024, parallel: 1 };
  home = await startController('e2e-standby', {
    // In half of it a CPU starts on a busy machine.
    failover: { returnAfter: '60s', firstToken: '20s' },
    models: {
      warm: { ...shared, cpu: { standby: 'warm' } },
      cached: { ...shared, cpu: { standby: 'cached' } },
      cold: shared,
    },
  });
});

after(() => home.close());

const standbyOf = async (name: string) =>
  (await home.state()).models.find((model) => model.name === name)?.standby;

// Each has a model of its own.
describe('a CPU that stands by', { concurrency: true }, () => {
  test('warm: the instance is there before it is needed, and takes over without a start', async () => {
    await chat(home, { model: 'warm' });
    await until(async () => (await standbyOf('warm'))?.state === 'ready');
    const standby = await home.container('warm', 'cpu');
    assert.ok(((await standbyOf('warm'))?.bytes ?? 0) > 0);
    const loads = () =>
      home.facts().filter(({ type, model }) => type === 'model_loaded' && model === 'warm').length;
    const before = loads();
    const pending = chat(home, { model: 'warm', tokens: 400, id: 'moved' });
    await running(home, 'moved');
    await home.docker('kill', await home.container('warm', 'gpu'));
    const answer = await pending;
    assert.equal(answer.status, 200, answer.raw);
    assert.equal(answer.placement, 'cpu');
    assert.equal(loads(), before);
    assert.equal(await home.container('warm', 'cpu'), standby);
  });

  test('cached: the file was read, and the page can tell what it costs', async () => {
    await chat(home, { model: 'cached' });
    await until(async () => (await standbyOf('cached'))?.state === 'kept');
    const kept = await standbyOf('cached');
    assert.equal(kept?.kind, 'cached');
    assert.ok((kept?.bytes ?? 0) > 100_000, `${kept?.bytes} bytes`);
    const pending = chat(home, { model: 'cached', tokens: 400, id: 'from-cache' });
    await running(home, 'from-cache');
    await home.docker('kill', await home.container('cached', 'gpu'));
    assert.equal((await pending).placement, 'cpu');
    assert.ok(((await standbyOf('cached'))?.starts.cached ?? 0) > 0);
  });

  test('an answer that does not begin has the CPU started before its deadline', async () => {
    await chat(home, { model: 'cold' });
    const victim = await home.container('cold', 'gpu');
    await home.docker('exec', victim, 'sh', '-c', 'kill -STOP $(pidof llama-server)');
    const pending = sendChat(home, { model: 'cold', stream: true, id: 'slow' }).then((response) => {
      void response.text();
      return response.headers.get('llamastead-placement');
    });
    const ahead = await home.event(
      'model_loaded',
      ({ model, placement }) => model === 'cold' && placement === 'cpu',
    );
    const hang = await home.event('failover', ({ model }) => model === 'cold');
    assert.ok(ahead.seq < hang.seq, 'loaded before the GPU was given up');
    assert.equal(hang.reason, 'hang');
    assert.equal(await pending, 'cpu');
  });
});
