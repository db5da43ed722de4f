import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import type { Step } from '../lib/steps.ts';

/** Format and lint, then types. The rules of direction are tests like others. */
export function checkSteps(): Step<string>[] {
  const page = ['app/web', 'test/browser']
    .filter((folder) => existsSync(join(repository, folder, 'tsconfig.json')))
    .map((folder) => ['tsc', '-p', folder]);
  return [['biome', 'check', '.'], ['tsc'], ...page].map(([command = '', ...args]) => ({
    name: [command, ...args].join(' '),
    advice: 'Run `npm run check` and mend what it names.',
    find: async () => undefined,
    make: (log) =>
      run(join(repository, 'node_modules/.bin', command), args, { cwd: repository, onLine: log }),
  }));
}
