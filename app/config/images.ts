/** Which image of llama-server an instance is made from. */
import type { Gpu } from '../core/types.ts';
import type { Config } from './secrets.ts';

export type ImageFamily = 'cpu' | 'cuda' | 'vulkan' | 'rocm';
export type Images = Readonly<Record<ImageFamily, string>>;

/** The images' full names, at the mirror where one is configured. */
export function resolveImages(config: Config): Images {
  const { mirror, cpu, cuda, vulkan, rocm } = config.images;
  const at = (image: string) => (mirror === null ? image : mirrored(image, mirror));
  return { cpu: at(cpu), cuda: at(cuda), vulkan: at(vulkan), rocm: at(rocm) };
}

/** The first part of a name is a registry if it has a dot or a port, or is localhost (Docker's own rule). */
function mirrored(image: string, mirror: string): string {
  const [first, ...rest] = image.split('/');
  const hasRegistry = rest.length > 0 && first !== undefined && /[.:]|^localhost$/.test(first);
  return `${mirror.replace(/\/$/, '')}/${hasRegistry ? rest.join('/') : image}`;
}

/** By the device that llama.cpp will be told: an AMD card is also reached by Vulkan. */
export function familyOf(gpu: Gpu | null): ImageFamily {
  const device = gpu?.devices[0];
  if (device === undefined) return 'cpu';
  if (device.startsWith('CUDA')) return 'cuda';
  return device.startsWith('ROCm') ? 'rocm' : 'vulkan';
}
