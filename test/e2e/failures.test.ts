/** Each way a GPU instance fails, on real containers. A stranger's container must live through all of it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ensureBench } from '../home/bench.ts';
import { freeze } from '../support/freeze.ts';
import { chat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

let home: Controller;
let stranger: string;
const shared = { file: 'tiny.gguf', context: 1024, parallel: 2 };

before(async () => {
  const { images } = await ensureBench();
  home = await startController('e2e-failures', {
    images: { ...images, cuda: images.vulkan },
    gpus: [
      { name: 'bench', kind: 'vulkan', memory: 'shared', env: { GGML_VK_VISIBLE_DEVICES: '0' } },
      { name: 'absent', kind: 'nvidia' },
      { name: 'gone', kind: 'vulkan', memory: 'shared', devices: ['Vulkan7'] },
    ],
    // Long enough to do something to an instance before.
    failover: { returnAfter: '60s', firstToken: '15s' },
    models: {
      tiny: shared,
      'too-big': {
        ...shared,
        env: { GGML_VK_FORCE_MAX_BUFFER_SIZE: '1000000', GGML_VK_FORCE_MAX_ALLOCATION_SIZE: '1000000' },
      },
      'no-card': { ...shared, gpu: { devices: ['absent'] } },
      'no-device': { ...shared, gpu: { devices: ['gone'] } },
      hangs: shared,
      stopped: shared,
    },
  });
  stranger = await home.docker('run', '-d', '--entrypoint', 'sleep', home.bench.images.cpu, '600');
});

after(async () => {
  await home.docker('rm', '-f', stranger);
  await home.close();
});

// Each has a model of its own.
describe('the request is answered by the CPU, and the event names the cause, when', {
  concurrency: 3,
}, () => {
  test('the GPU has too little memory at the load', async () => {
    await moved('too-big', 'out_of_memory');
  });

  test('Docker has no such GPU', async () => {
    const failover = await moved('no-card', 'device_missing');
    assert.match(failover.detail ?? '', /could not select device driver/);
  });

  test('the device is not there, though the container starts', async () => {
    await moved('no-device', 'device_missing');
  });

  test('the instance is stopped from outside in mid-request', async () => {
    await loaded('stopped');
    const pending = chat(home, { model: 'stopped', tokens: 600, id: 'stopped-1' });
    await running(home, 'stopped-1');
    await home.docker('stop', '-t', '0', await home.container('stopped', 'gpu'));
    await answered(await pending, 'stopped', 'killed_outside');
  });

  test('the instance is paused before the first byte', async () => {
    await loaded('hangs');
    const victim = await home.container('hangs', 'gpu');
    // So that there is no byte before.
    await stop(victim);
    const pending = chat(home, { model: 'hangs', stream: true, id: 'paused-1' });
    await running(home, 'paused-1');
    await freeze(home.docker, victim);
    await answered(await pending, 'hangs', 'paused');
  });

  test('the program freezes before the first byte', async () => {
    await loaded('tiny');
    await stop(await home.container('tiny', 'gpu'));
    await answered(await chat(home, { model: 'tiny', stream: true }), 'tiny', 'hang');
  });
});

test('nothing that is not ours was touched', async () => {
  const { State, RestartCount } = JSON.parse(
    await home.docker('inspect', '--format', '{{json .}}', stranger),
  ) as {
    State: { Running: boolean; StartedAt: string };
    RestartCount: number;
  };
  assert.equal(State.Running, true);
  assert.equal(RestartCount, 0);
});

/** By a signal sent inside the container: Docker does not see it, only the silence tells. */
async function stop(container: string): Promise<void> {
  await home.docker('exec', container, 'sh', '-c', 'kill -STOP $(pidof llama-server)');
}

async function loaded(model: string): Promise<void> {
  const response = await home.post(`/admin/models/${model}/load?wait=1`);
  assert.equal(response.status, 200, await response.text());
}

/** A request to a model that is not loaded yet. */
async function moved(model: string, reason: string) {
  return answered(await chat(home, { model }), model, reason);
}

async function answered(answer: Awaited<ReturnType<typeof chat>>, model: string, reason: string) {
  assert.equal(answer.status, 200, answer.raw);
  assert.equal(answer.placement, 'cpu');
  const failover = await home.event('failover', (fact) => fact.model === model);
  assert.equal(failover.reason, reason, JSON.stringify(failover));
  return failover;
}
