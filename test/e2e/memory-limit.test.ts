/** An instance that the kernel kills for its memory limit, in the middle of a request. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { chat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';

let home: Controller;

before(async () => {
  home = await startController('e2e-limit', {
    failover: { returnAfter: '60s' },
    models: {
      chat: {
        ...{ file: 'smollm2-135m-instruct-q4_1.gguf', context: 2048 },
        // A long prompt in one batch takes much memory, and kernels for which the bench's device has no code yet.
        gpu: { env: { LLAMA_ARG_UBATCH: '512' } },
      },
    },
  });
});

after(() => home.close());

/** Loads it on the GPU; the container. */
async function loaded(): Promise<string> {
  const answer = await home.post('/admin/models/chat/load?wait=1');
  assert.equal(answer.status, 200, await answer.text());
  return home.container('chat', 'gpu');
}

const limitOf = async (container: string) =>
  Number(await home.docker('inspect', '--format', '{{.HostConfig.Memory}}', container));

test('a kill by the memory limit is named so, the CPU answers, and a restart does not forget it', async () => {
  const victim = await loaded();
  const before = await limitOf(victim);
  // What the load took, without the file's pages, which the kernel drops: the first request takes far more.
  const group = (file: string) => home.docker('exec', victim, 'cat', `/sys/fs/cgroup/memory/memory.${file}`);
  const used = Number(await group('usage_in_bytes'));
  const files = Number(/^total_inactive_file (\d+)$/m.exec(await group('stat'))?.[1]);
  const limit = String(used - files);
  await home.docker('update', '--memory', limit, '--memory-swap', limit, victim);
  const answer = await chat(home, { model: 'chat', prompt: 'word '.repeat(200), tokens: 4 });
  assert.equal(answer.status, 200, answer.raw);
  assert.equal(answer.placement, 'cpu');
  const failover = await home.event('failover');
  assert.equal(failover.reason, 'memory_limit', JSON.stringify(failover));
  await home.event('out_of_memory');
  assert.equal(await home.kill('SIGTERM'), 0);
  await home.start();
  assert.ok((await limitOf(await loaded())) > before, 'the limit is still the raised one');
});
