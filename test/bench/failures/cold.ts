/**
 * What a start of a container costs a request, with the real llama-server: after the GPU failed with a cold
 * CPU, and after an idle unload; beside a bare container that is created, started and asked.
 */
import Dockerode from 'dockerode';
import type { Controller } from '../../e2e/support/controller.ts';
import { type Bench, ensureBench } from '../../home/bench.ts';
import type { Samples } from '../measure/samples.ts';
import { MODEL, startStubHome } from '../targets/home.ts';
import { followMarks, monotonicMs } from './marks.ts';
import { ask } from './warm.ts';

const NAME = 'bench-cold';
const PORT = 8080;
const CONTEXT = 2048;
const POLL_MS = 10;

/** Puts `start ms` of `bare`, and `failover cold ms` and `wake ms` of Llamastead, by turns. */
export async function measureCold(stub: string, trials: number, samples: Samples): Promise<void> {
  const bench = await ensureBench();
  const home = await startStubHome(NAME, stub, {
    images: { cpu: bench.images.cpu, vulkan: stub },
    model: { parallel: 1, context: CONTEXT, idleUnload: 'never' },
    failover: { returnAfter: '100ms' },
  });
  const { controller } = home;
  try {
    for (let i = 0; i < trials; i += 1) {
      samples.put('start ms', 'bare', await bareStart(bench));
      samples.put('failover cold ms', 'llamastead', await coldFailover(home, `cold-${i}`));
      await controller.post(`/admin/models/${MODEL}/mode?wait=1`, { mode: 'cpu' });
      await unload(controller);
      samples.put('wake ms', 'llamastead', await timed(() => ask(home, {})));
      await unload(controller);
      await controller.post(`/admin/models/${MODEL}/mode?wait=1`, { mode: 'auto' });
    }
  } finally {
    await controller.close();
  }
}

/** From the reset of the GPU's connection to the answer, with the GPU ready and no CPU instance. */
async function coldFailover(home: Awaited<ReturnType<typeof startStubHome>>, id: string): Promise<number> {
  await ask(home, {});
  const gpu = await followMarks(await home.upstream('gpu'));
  await ask(home, { id, reset: 'gpu' });
  const end = monotonicMs();
  const failed = await gpu.of('reset', id);
  gpu.close();
  await home.controller.event('recovered');
  return end - failed.at;
}

async function unload(controller: Controller): Promise<void> {
  await controller.post(`/admin/models/${MODEL}/unload?wait=1`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = monotonicMs();
  await work();
  return monotonicMs() - start;
}

/** Create, start, wait for /health every 10 ms, first answer: what a script of one's own would do. */
async function bareStart(bench: Bench): Promise<number> {
  const docker = new Dockerode({ socketPath: bench.socket });
  const start = monotonicMs();
  const container = await docker.createContainer({
    Image: bench.images.cpu,
    Cmd: ['--no-warmup'],
    Env: [
      `LLAMA_ARG_MODEL=/models/${bench.tinyFile}`,
      `LLAMA_ARG_PORT=${PORT}`,
      `LLAMA_ARG_CTX_SIZE=${CONTEXT}`,
      'LLAMA_ARG_N_PARALLEL=1',
      'LLAMA_ARG_THREADS=1',
      'LLAMA_ARG_FIT=off',
    ],
    HostConfig: { Binds: [`${bench.modelsDir}:/models:ro`] },
  });
  try {
    await container.start();
    const { Networks } = (await container.inspect()).NetworkSettings;
    const url = `http://${Object.values(Networks)[0]?.IPAddress}:${PORT}`;
    while (!(await isHealthy(url))) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const body = JSON.stringify({ max_tokens: 8, messages: [{ role: 'user', content: 'Say hello.' }] });
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    return monotonicMs() - start;
  } finally {
    await container.remove({ force: true });
  }
}

async function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    async (answer) => {
      await answer.text();
      return answer.ok;
    },
    () => false,
  );
}
