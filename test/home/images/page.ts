import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, fileParts, filesUnder } from '../lib/content-hash.ts';
import { withLock } from '../lib/lock.ts';
import { benchDir, repository } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import { onTerminal, type Progress, runStep, type Step } from '../lib/steps.ts';

const web = join(repository, 'app/web');
const dist = join(web, 'dist');
/** Says from which sources the built page was made. */
const stampFile = join(dist, '.made-from');

/**
 * The page as the program serves it from a checkout, built from the sources as they are now.
 * @returns its folder
 * @throws StepFailure
 */
export async function ensurePage(progress: Progress = onTerminal): Promise<string> {
  mkdirSync(benchDir, { recursive: true });
  // A lock of its own: who wants the page does not wait for images.
  return withLock(join(benchDir, 'page-lock'), () => runStep(pageStep(), progress));
}

/** Built from app/web into app/web/dist. */
function pageStep(): Step<string> {
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
