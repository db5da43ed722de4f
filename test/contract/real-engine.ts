/**
 * A real engine with the bench's images and models, as the contract suites want one.
 */
import type { BenchEngine } from '../support/containers/bench.ts';

/** Ends the program as an abort of its own does; PID 1 is Docker's init. */
const ABORT_LLAMA =
  'for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in *llama-server) kill -ABRT $(basename $p);; esac; done';

/** The parts of the bench that are used; another engine has the same images and models. */
export interface RealParts {
  readonly docker: { run(args: readonly string[]): Promise<string> };
  readonly socket: string;
  readonly images: { readonly cpu: string; readonly vulkan: string };
  readonly modelsDir: string;
}

export function realEngine({ docker, socket, images, modelsDir }: RealParts): BenchEngine {
  return {
    socket,
    images,
    modelsFolder: modelsDir,
    async crash(container) {
      await docker.run(['exec', container, 'sh', '-c', ABORT_LLAMA]);
    },
  };
}
