/** The stub as an image. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, ensureNodeImage } from '../../home/bench.ts';
import { withContext } from '../../home/images/context.ts';
import { contentHash, fileParts, filesUnder } from '../../home/lib/content-hash.ts';
import { buildImage, findImage } from '../../home/lib/docker.ts';
import { onTerminal, runStep } from '../../home/lib/steps.ts';

const folder = join(import.meta.dirname, '../stub');

/**
 * @returns the image's name
 * @throws StepFailure
 */
export async function ensureStubImage(bench: Bench): Promise<string> {
  const base = await ensureNodeImage(bench);
  const files = filesUnder(folder);
  const name = `llamastead-bench/stub:${contentHash([base, ...fileParts(folder, files)])}`;
  const dockerfile = join(folder, 'Dockerfile');
  return runStep(
    {
      name: 'stub image',
      advice: 'Read the last output of the build.',
      find: () => findImage(bench.docker, name),
      make: (log) =>
        withContext(async (context) => {
          for (const file of files) cpSync(join(folder, file), join(context, file));
          return buildImage(bench.docker, { name, dockerfile, context, args: { BASE: base } }, log);
        }),
    },
    onTerminal,
  );
}
