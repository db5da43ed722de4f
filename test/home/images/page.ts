import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, fileParts, filesUnder } from '../lib/content-hash.ts';
import { repository } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import type { Step } from '../lib/steps.ts';

const web = join(repository, 'app/web');
const dist = join(web, 'dist');
/** Says from which sources the built page was made. */
const stampFile = join(dist, '.made-from');

/** The page, built from app/web into app/web/dist; undefined in a checkout without a page. */
export function pageStep(): Step<string> | undefined {
  if (!existsSync(join(web, 'vite.config.ts'))) return undefined;
  const sources = filesUnder(web, (path) => path !== 'dist/' && path !== 'node_modules/');
  const hash = contentHash([readFileSync(join(repository, 'package-lock.json')), ...fileParts(web, sources)]);
  return {
    name: 'page',
    advice: 'Run `npm run web` and read what it says.',
    find: async () => (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === hash ? dist : undefined),
    make: async (log) => {
      await run('npm', ['run', 'web'], { cwd: repository, onLine: log });
      writeFileSync(stampFile, hash);
      return dist;
    },
  };
}
