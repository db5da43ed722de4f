/** Llamastead itself, the real program on the real engine, with the stub in the place of llama-server. */
import { type Controller, startController } from '../../e2e/support/controller.ts';
import type { Target } from './target.ts';

export interface StubHome {
  readonly controller: Controller;
  readonly target: Target;
  /** The address of the running instance of a placement. */
  upstream(placement: 'gpu' | 'cpu'): Promise<string>;
}

export const MODEL = 'stub';
const PARALLEL = 64;

/** `over`: keys of the configuration laid over the bench's own. The model is not loaded. */
export async function startStubHome(
  name: string,
  image: string,
  { model = {}, ...over }: { readonly model?: Record<string, unknown>; readonly [key: string]: unknown },
): Promise<StubHome> {
  const controller = await startController(name, {
    images: { cpu: image, vulkan: image },
    models: { [MODEL]: { file: 'tiny.gguf', context: 256, parallel: PARALLEL, ...model } },
    ...over,
  });
  /** By holder, which outlives instances. */
  const addresses: Record<string, string> = {};
  return {
    controller,
    target: { name: 'llamastead', url: controller.url, model: MODEL, pid: controller.pid() },
    async upstream(placement) {
      const container = await controller.container(MODEL, placement);
      const inspect = (what: string, format: string) =>
        controller.docker('inspect', '--format', format, what);
      const made = await inspect(container, '{{.HostConfig.NetworkMode}} {{json .Config.Env}}');
      const [, holder = '', env = ''] = /^container:(\S+) (.*)$/.exec(made) ?? [];
      const port = /"LLAMA_ARG_PORT=(\d+)"/.exec(env)?.[1];
      addresses[holder] ??= await inspect(
        holder,
        '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}',
      );
      const [address] = addresses[holder].trim().split(' ');
      return `http://${address}:${port}`;
    },
  };
}
