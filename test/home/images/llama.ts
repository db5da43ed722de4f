import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { emptyContext } from './context.ts';

/** llama-server for the CPU, on the base image. */
export function cpuImageStep(docker: Docker, base: string): Step<string> {
  return llamaImageStep(docker, 'cpu', base);
}

/** llama-server with the Vulkan backend and a software device, on the CPU image; its shaders are not compiled yet. */
export function coldVulkanImageStep(docker: Docker, cpu: string): Step<string> {
  return llamaImageStep(docker, 'vulkan', cpu);
}

function llamaImageStep(docker: Docker, kind: 'cpu' | 'vulkan', base: string): Step<string> {
  const dockerfile = join(import.meta.dirname, `llama-${kind}.Dockerfile`);
  const tag = contentHash([base, readFileSync(dockerfile)]);
  const name = `llamastead-bench/llama:${kind === 'vulkan' ? 'vulkan-cold' : kind}-${tag}`;
  return {
    name: `llama-server image (${kind})`,
    advice: 'Read the last output; without the network there is no first build.',
    find: () => findImage(docker, name),
    make: (log) =>
      buildImage(docker, { name, dockerfile, context: emptyContext(), args: { BASE: base } }, log),
  };
}
