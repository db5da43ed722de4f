import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { emptyContext } from './context.ts';

export interface Derived {
  /** What the step is called. */
  title: string;
  /** The Dockerfile beside this file, without its ending. */
  dockerfile: string;
  /** Repository, and the tag's beginning: `llama:cpu` becomes `llamastead-bench/llama:cpu-<hash>`. */
  name: string;
  base: string;
}

/** An image that copies nothing: its Dockerfile on a base. Cached by both. */
export function derivedImageStep(docker: Docker, { title, dockerfile, name, base }: Derived): Step<string> {
  const file = join(import.meta.dirname, `${dockerfile}.Dockerfile`);
  const hash = contentHash([base, readFileSync(file)]);
  const tagged = `llamastead-bench/${name}${name.includes(':') ? '-' : ':'}${hash}`;
  return {
    name: title,
    advice: 'Read the last output; without the network there is no first build.',
    find: () => findImage(docker, tagged),
    make: (log) =>
      buildImage(
        docker,
        { name: tagged, dockerfile: file, context: emptyContext(), args: { BASE: base } },
        log,
      ),
  };
}
