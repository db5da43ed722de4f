import type { Docker } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { derivedImageStep } from './derived.ts';

/** llama-server for the CPU, on the base image. */
export function cpuImageStep(docker: Docker, base: string): Step<string> {
  const title = 'llama-server image (cpu)';
  return derivedImageStep(docker, { title, dockerfile: 'llama-cpu', name: 'llama:cpu', base });
}

/** llama-server with the Vulkan backend and a software device, on the CPU image; its shaders are not compiled yet. */
export function coldVulkanImageStep(docker: Docker, cpu: string): Step<string> {
  const title = 'llama-server image (vulkan)';
  return derivedImageStep(docker, {
    title,
    dockerfile: 'llama-vulkan',
    name: 'llama:vulkan-cold',
    base: cpu,
  });
}
