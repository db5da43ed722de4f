import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, fileParts, filesUnder } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import { repository } from '../lib/paths.ts';
import type { Step } from '../lib/steps.ts';
import { withContext } from './context.ts';

const dockerfile = join(repository, 'app/Dockerfile');

/**
 * Llamastead's own image by the Dockerfile that users build, on a base that is on this machine. The page is
 * brought built, if there is one.
 */
export function selfImageStep(docker: Docker, node: string): Step<string> {
  const sources = imageSources();
  const name = `llamastead-bench/llamastead:${contentHash([node, ...fileParts(repository, sources)])}`;
  return {
    name: "Llamastead's image",
    advice: 'Read the last output. `npm ci` in the build asks the registry that this machine asks.',
    find: () => findImage(docker, name),
    make: (log) =>
      withContext(async (context) => {
        for (const path of sources) cpSync(join(repository, path), join(context, path));
        return buildImage(docker, { name, dockerfile, context, args: { BASE: node } }, log);
      }),
  };
}

/** What goes into the image: the server's sources and the built page, by their paths in the repository. */
function imageSources(): string[] {
  const unwanted = /^web\/(?!dist\/)./;
  const files = filesUnder(
    join(repository, 'app'),
    (path) => !unwanted.test(path) && !path.endsWith('/.made-from'),
  );
  return ['package.json', 'package-lock.json', ...files.map((path) => `app/${path}`)];
}
