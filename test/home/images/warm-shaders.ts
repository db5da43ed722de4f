import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage, removeLabelled } from '../lib/docker.ts';
import { type LlamaServer, startLlama } from '../lib/llama-server.ts';
import { benchDir, modelsDir } from '../lib/paths.ts';
import { post } from '../lib/post.ts';
import type { Step } from '../lib/steps.ts';
import { withContext } from './context.ts';

const dockerfile = join(import.meta.dirname, 'llama-vulkan-warm.Dockerfile');
const shadersInImage = '/var/cache/shaders';
const environment = {
  GGML_VK_VISIBLE_DEVICES: '0',
  LLAMA_ARG_N_GPU_LAYERS: '999',
  LLAMA_ARG_DEVICE: 'Vulkan0',
  LLAMA_ARG_FIT: 'off',
};
/** Marks the servers, so that one of an interrupted call is found by the next. */
const label = 'llamastead.bench.warm';
/** The image reads and writes token by token, so every request asks for the same kernels. */
const words = 2;
/** At once, one time after the other: a batch of several slots has kernels of its own, for any number of them. */
const chats = [1, 2];
/** Long enough that one still writes when the prompt of another has been read. */
const tokens = 8;

/** A model as the bench's configuration runs it on the GPU: shaders depend on it. */
export interface WarmModel {
  file: string;
  context: number;
  parallel: number;
}

/**
 * The Vulkan image with the shaders that the models need. The software device compiles for 10 to 30 s at a first
 * start and at a first request; from this image an instance is ready in about a second.
 */
export function warmVulkanImageStep(
  docker: Docker,
  cold: string,
  models: readonly WarmModel[],
): Step<string> {
  // The compiled shaders are machine code for this processor.
  const recipe = JSON.stringify({ processor: cpus()[0]?.model, models, environment, words, chats, tokens });
  const name = `llamastead-bench/llama:vulkan-${contentHash([cold, recipe, readFileSync(dockerfile)])}`;
  return {
    name: 'llama-server image (vulkan, shaders compiled)',
    advice: 'Read the last output; docker logs of the server are in it.',
    find: () => findImage(docker, name),
    make: async (log) => {
      await removeLabelled(docker, label);
      // By name, so that a call after an interrupted one goes on where that ended.
      const shaders = join(benchDir, 'shaders', contentHash([name]));
      mkdirSync(shaders, { recursive: true });
      // One after the other: at once they take longer, as their threads wait for each other.
      for (const model of models) await warm(docker, cold, model, shaders, log);
      await withContext(async (context) => {
        cpSync(shaders, join(context, 'shaders'), { recursive: true });
        await buildImage(docker, { name, dockerfile, context, args: { BASE: cold } }, log);
      });
      rmSync(join(benchDir, 'shaders'), { recursive: true });
      return name;
    },
  };
}

async function warm(
  docker: Docker,
  image: string,
  model: WarmModel,
  shaders: string,
  log: (line: string) => void,
): Promise<void> {
  const server = await startLlama(docker, {
    image,
    label,
    mounts: { [modelsDir]: '/models:ro', [shaders]: shadersInImage },
    env: {
      ...environment,
      LLAMA_ARG_MODEL: `/models/${model.file}`,
      LLAMA_ARG_CTX_SIZE: String(model.context * model.parallel),
      LLAMA_ARG_N_PARALLEL: String(model.parallel),
    },
  });
  try {
    log(`${model.file}: ready after ${server.readyMs} ms`);
    for (const atOnce of chats.filter((many) => many <= model.parallel)) {
      log(`${model.file}, ${atOnce} at once: ${await timeChats(server, atOnce)} ms`);
    }
  } finally {
    await server.remove();
  }
}

async function timeChats(server: LlamaServer, atOnce: number): Promise<number> {
  const start = performance.now();
  const content = Array.from({ length: words }, (_, place) => `llama ${place}`).join(' ');
  const body = { max_tokens: tokens, ignore_eos: true, messages: [{ role: 'user', content }] };
  await Promise.all(Array.from({ length: atOnce }, () => post(`${server.url}/v1/chat/completions`, body)));
  return Math.round(performance.now() - start);
}
