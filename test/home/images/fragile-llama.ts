import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { withContext } from './context.ts';

const PROGRAM = 'fragile-llama.mjs';
const program = join(import.meta.dirname, PROGRAM);
const dockerfile = join(import.meta.dirname, 'fragile-llama.Dockerfile');

/** A stand-in for llama-server that a marked request ends; see its program. */
export function fragileLlamaImageStep(docker: Docker, base: string): Step<string> {
  const name = `llamastead-bench/fragile-llama:${contentHash([base, readFileSync(program), readFileSync(dockerfile)])}`;
  return {
    name: 'image of a fragile llama-server',
    advice: 'Read the last output of the build.',
    find: () => findImage(docker, name),
    make: (log) =>
      withContext((context) => {
        copyFileSync(program, join(context, PROGRAM));
        return buildImage(docker, { name, dockerfile, context, args: { BASE: base } }, log);
      }),
  };
}
