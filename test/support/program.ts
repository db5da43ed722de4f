/** The program as its image starts it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const app = join(import.meta.dirname, '../../app');
const MAIN = join(app, 'main.ts');

/** Node's arguments: the image's own flags, so that speed and memory are those of a home, then the program. */
export const PROGRAM: readonly string[] = [...imageFlags(), MAIN];

function imageFlags(): string[] {
  const [, flags] =
    /^ENTRYPOINT \["node", (.*), "\S+main\.ts"\]$/m.exec(readFileSync(join(app, 'Dockerfile'), 'utf8')) ?? [];
  if (flags === undefined) throw new Error('app/Dockerfile has no ENTRYPOINT that starts main.ts with flags');
  return JSON.parse(`[${flags}]`) as string[];
}
