/**
 * The bench as tests use it:
 *
 *     const bench = await ensureBench();
 *     bench.docker.host                       // 'unix:///...': as for DOCKER_HOST
 *     await bench.docker.run(['ps'])          // the docker command line on that engine
 *     bench.socket                            // the engine's socket file, to mount or for dockerode
 *     bench.images.cpu, bench.images.vulkan   // llama-server images; only LLAMA_ARG_* are needed
 *     bench.modelsDir, bench.tinyFile, bench.chatFile
 *     await ensureSelfImage(bench)            // Llamastead's own image from app/Dockerfile, as it is now
 *
 * Both are idempotent, safe in several processes at once, and take well under a second when all is there.
 * The Vulkan image wants GGML_VK_VISIBLE_DEVICES=0 in an instance's environment, and its device is Vulkan0.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { benchModels } from './controller/settings.ts';
import { engineStep, socketOf } from './engine.ts';
import { baseImageStep } from './images/base.ts';
import { composeImageStep } from './images/compose.ts';
import { coldVulkanImageStep, cpuImageStep } from './images/llama.ts';
import { nodeImageStep } from './images/node.ts';
import { ensurePage } from './images/page.ts';
import { fragileLlamaImageStep, nvidiaSmiImageStep } from './images/program.ts';
import { selfImageStep } from './images/self.ts';
import { warmVulkanImageStep } from './images/warm-shaders.ts';
import type { Docker } from './lib/docker.ts';
import { withLock } from './lib/lock.ts';
import { benchDir, modelsDir } from './lib/paths.ts';
import { onTerminal, type Progress, runStep } from './lib/steps.ts';
import { chatModelStep } from './models/chat.ts';
import { tinyModelStep } from './models/tiny.ts';

export interface Bench {
  docker: Docker;
  /** The engine's socket file on this machine. */
  socket: string;
  /** Debian with its package manager: to build other images on. */
  base: string;
  images: { cpu: string; vulkan: string };
  /** The folder with the models, on the host. */
  modelsDir: string;
  /** Names of files in modelsDir. */
  tinyFile: string;
  chatFile: string;
}

/**
 * Brings up the engine, the images and the models, or finds them.
 * @throws StepFailure
 */
export async function ensureBench(progress: Progress = onTerminal): Promise<Bench> {
  mkdirSync(benchDir, { recursive: true });
  return withLock(join(benchDir, 'lock'), async () => {
    const models = Promise.all([runStep(tinyModelStep, progress), runStep(chatModelStep, progress)]);
    const docker = await runStep(engineStep, progress);
    const base = await runStep(baseImageStep(docker), progress);
    const cpu = await runStep(cpuImageStep(docker, base), progress);
    const cold = await runStep(coldVulkanImageStep(docker, cpu), progress);
    const [tinyFile, chatFile] = await models;
    const vulkan = await runStep(
      warmVulkanImageStep(docker, cold, benchModels({ tinyFile, chatFile })),
      progress,
    );
    return { docker, socket: socketOf(docker), base, images: { cpu, vulkan }, modelsDir, tinyFile, chatFile };
  });
}

/**
 * Llamastead's own image, built from app/Dockerfile and the sources as they are now.
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureSelfImage(bench: Bench, progress: Progress = onTerminal): Promise<string> {
  return withLock(join(benchDir, 'lock'), async () => {
    const [node] = await Promise.all([
      runStep(nodeImageStep(bench.docker, bench.base), progress),
      ensurePage(progress),
    ]);
    return runStep(selfImageStep(bench.docker, node), progress);
  });
}

/**
 * A stand-in for llama-server that a marked request ends.
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureFragileLlama(bench: Bench, progress: Progress = onTerminal): Promise<string> {
  return withLock(join(benchDir, 'lock'), async () => {
    const node = await runStep(nodeImageStep(bench.docker, bench.base), progress);
    return runStep(fragileLlamaImageStep(bench.docker, node), progress);
  });
}

/**
 * A program that prints what nvidia-smi prints.
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureNvidiaSmi(bench: Bench, progress: Progress = onTerminal): Promise<string> {
  return withLock(join(benchDir, 'lock'), () =>
    runStep(nvidiaSmiImageStep(bench.docker, bench.base), progress),
  );
}

/**
 * Node on the base image.
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureNodeImage(bench: Bench, progress: Progress = onTerminal): Promise<string> {
  return withLock(join(benchDir, 'lock'), () => runStep(nodeImageStep(bench.docker, bench.base), progress));
}

/**
 * The image with `docker compose`.
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureComposeImage(bench: Bench, progress: Progress = onTerminal): Promise<string> {
  return withLock(join(benchDir, 'lock'), () =>
    runStep(composeImageStep(bench.docker, bench.base), progress),
  );
}
