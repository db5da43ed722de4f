import { join } from 'node:path';
import { filesUnder } from '../lib/content-hash.ts';

/** Folders of test/ whose tests need real parts, in the order in which they run: the quick and basic first. */
const lastFolders = ['contract', 'adapters', 'e2e', 'browser', 'packaging', 'chaos'];

/**
 * Test files under the folder: pure ones first, so that a broken rule shows before a slow test.
 * @param words only files with one of them in their path; none: all
 */
export function orderedTestFiles(folder: string, words: readonly string[]): string[] {
  const rank = (path: string) => lastFolders.indexOf(path.split('/')[0] ?? '');
  return filesUnder(folder)
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => words.length === 0 || words.some((word) => join('test', path).includes(word)))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map((path) => join(folder, path));
}
