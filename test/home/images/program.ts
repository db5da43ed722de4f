import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { withContext } from './context.ts';

/** An image of one program beside this file, `NAME.EXTENSION`, by the `NAME.Dockerfile` beside it. */
function programImageStep(
  docker: Docker,
  base: string,
  { name, extension, what }: { readonly name: string; readonly extension: string; readonly what: string },
): Step<string> {
  const file = `${name}.${extension}`;
  const program = join(import.meta.dirname, file);
  const dockerfile = join(import.meta.dirname, `${name}.Dockerfile`);
  const hash = contentHash([base, readFileSync(program), readFileSync(dockerfile)]);
  const image = `llamastead-bench/${name}:${hash}`;
  return {
    name: `image of ${what}`,
    advice: 'Read the last output of the build.',
    find: () => findImage(docker, image),
    make: (log) =>
      withContext((context) => {
        copyFileSync(program, join(context, file));
        return buildImage(docker, { name: image, dockerfile, context, args: { BASE: base } }, log);
      }),
  };
}

/** A stand-in for llama-server that a marked request ends; see its program. */
export function fragileLlamaImageStep(docker: Docker, base: string): Step<string> {
  return programImageStep(docker, base, {
    name: 'fragile-llama',
    extension: 'mjs',
    what: 'a fragile llama-server',
  });
}

/** A stand-in for nvidia-smi; see its program. */
export function nvidiaSmiImageStep(docker: Docker, base: string): Step<string> {
  return programImageStep(docker, base, { name: 'nvidia-smi', extension: 'sh', what: 'a played nvidia-smi' });
}
