/** The GPU fails and comes back, on real containers: its place is taken for a while, nobody else's work is. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ensureBench, ensureFragileLlama } from '../home/bench.ts';
import { until } from '../support/until.ts';
import { chat } from './support/chat.ts';
import { type Controller, startController } from './support/controller.ts';
import { running } from './support/wait.ts';

let home: Controller;
let fragile: Controller;
let stranger: string;

before(async () => {
  const bench = await ensureBench();
  const image = await ensureFragileLlama(bench);
  home = await startController('e2e-recovery', {
    // The CPU stands still for as long as the GPU takes to come back.
    failover: { returnAfter: '1s', silence: '300s' },
    models: {
      tiny: { file: 'tiny.gguf', context: 2048, parallel: 2, cpu: { threads: 1 } },
      other: { file: 'tiny.gguf', context: 512, placements: ['cpu'] },
    },
  });
  fragile = await startController('e2e-smaller', {
    images: { cpu: image, vulkan: image },
    failover: { returnAfter: '1s' },
    models: { tiny: { file: 'tiny.gguf', context: 4096, parallel: 2 } },
  });
  stranger = await home.docker('run', '-d', '--entrypoint', 'sleep', bench.images.cpu, '600');
});

after(async () => {
  await home.docker('rm', '-f', stranger);
  await Promise.all([home.close(), fragile.close()]);
});

/** Id, start and restarts of containers, as Docker tells them. */
async function identity(...containers: string[]): Promise<string> {
  const format = '{{.Id}} {{.State.StartedAt}} {{.RestartCount}} {{.State.Running}}';
  return home.docker('inspect', '--format', format, ...containers);
}

// Each has a controller of its own.
describe('a GPU that failed', { concurrency: true }, () => {
  test('returns while the CPU still answers, and nobody else notices', async () => {
    await chat(home, { model: 'other' });
    const others = [stranger, await home.container('other', 'cpu')];
    const untouched = await identity(...others);
    await chat(home);
    const first = chat(home, { id: 'moved', tokens: 1900 });
    await running(home, 'moved');
    const victim = await home.container('tiny', 'gpu');
    await home.docker('kill', victim);
    await home.event('failover');
    await until(async () => (await home.state()).requests.some(({ placement }) => placement === 'cpu'));
    // It stands still until the GPU is back, however fast either is.
    const signal = async (name: string) =>
      home.docker(
        'exec',
        await home.container('tiny', 'cpu'),
        'sh',
        '-c',
        `kill -${name} $(pidof llama-server)`,
      );
    await signal('STOP');
    // Its removal ended, with its memory back, before the next one began.
    const back = await home.event('recovered');
    assert.equal(back.placement, 'gpu');
    const types = home.facts().map((fact) => fact.type);
    assert.ok(types.indexOf('backend_crashed') < types.lastIndexOf('model_loading'));
    assert.notEqual(await home.container('tiny', 'gpu'), victim);
    const state = await home.state();
    const cpu = state.instances.find((one) => one.model === 'tiny' && one.placement === 'cpu');
    assert.equal(cpu?.leases, 1, 'the CPU still answers the request that moved to it');
    assert.equal((await chat(home)).placement, 'gpu');
    await signal('CONT');
    const answer = await first;
    assert.equal(answer.status, 200, answer.raw);
    assert.equal(answer.placement, 'cpu');
    await home.event('model_unloaded', (fact) => fact.placement === 'cpu' && fact.model === 'tiny');
    assert.equal(await identity(...others), untouched);
  });

  test('after it ran out of memory while it answered it takes less, until it is restarted', async () => {
    const slots = async () => {
      const env = await fragile.docker(
        'inspect',
        '--format',
        '{{range .Config.Env}}{{println .}}{{end}}',
        await fragile.container('tiny', 'gpu'),
      );
      const of = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(env)?.[1];
      return { parallel: of('LLAMA_ARG_N_PARALLEL'), total: of('LLAMA_ARG_CTX_SIZE') };
    };
    const fill = async (n: number) => {
      const answer = await chat(fragile, { prompt: `<<fill the memory>> ${n}` });
      assert.equal(answer.status, 200, answer.raw);
      assert.equal(answer.placement, 'cpu');
      await fragile.event('recovered');
    };
    await chat(fragile);
    assert.deepEqual(await slots(), { parallel: '2', total: '8192' });
    await fill(1);
    assert.deepEqual(await slots(), { parallel: '1', total: '4096' });
    const told = await fragile.event('setting_changed');
    assert.equal(told.key, 'models.tiny.gpu.parallel');
    assert.equal(told.reason, 'out_of_memory');
    await fill(2);
    assert.deepEqual(await slots(), { parallel: '1', total: '2048' });
    const { models, problems } = await fragile.state();
    assert.deepEqual(models[0]?.reduced?.configured, { parallel: 2, context: 4096 });
    assert.match(problems.find(({ code }) => code === 'reduced')?.fix ?? '', /Restart tiny/);

    const container = await fragile.container('tiny', 'gpu');
    await fragile.kill('SIGTERM');
    await fragile.start();
    await chat(fragile);
    assert.notEqual(await fragile.container('tiny', 'gpu'), container);
    assert.deepEqual(
      await slots(),
      { parallel: '1', total: '2048' },
      'kept over a restart of the controller',
    );

    const restarted = await fragile.post('/admin/models/tiny/restart?wait=1');
    assert.equal(restarted.status, 200, await restarted.text());
    assert.deepEqual(await slots(), { parallel: '2', total: '8192' });
    assert.deepEqual((await fragile.state()).problems, []);
  });
});
