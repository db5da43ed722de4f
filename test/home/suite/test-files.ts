import { join } from 'node:path';
import { filesUnder } from '../lib/content-hash.ts';

/** What only one test file at a time may use. Files that need none of them run beside anything. */
export type Part = 'engine' | 'newer-engine' | 'browser' | 'home-assistant';

export interface TestFile {
  readonly path: string;
  readonly part: Part | null;
  readonly alone: boolean;
}

/**
 * Beginnings of paths of tests that need real parts, in the order in which they run: the quick and basic first. On a
 * fresh machine Home Assistant's image takes minutes, and is being built meanwhile.
 */
const LAST = [
  'adapters/',
  'contract/',
  'e2e/',
  'packaging/',
  'browser/',
  'contract/home-assistant',
  'chaos/',
];

/**
 * By the first that matches: what drills and counts containers must be alone on its engine. Drills run on the newer
 * one so that the longest of the others need not wait for them.
 */
const PARTS: readonly (readonly [RegExp, Part])[] = [
  [/^(contract\/containers-newer|e2e\/drill|chaos\/)/, 'newer-engine'],
  [/^contract\/home-assistant/, 'home-assistant'],
  [/^(contract|e2e|packaging)\/|^adapters\/gguf\/llama-cpp|^browser\/real-home/, 'engine'],
  [/^browser\//, 'browser'],
];

/**
 * Test files under the folder: pure ones first, so that a broken rule shows before a slow test.
 * @param words only files with one of them in their path; none: all
 */
export function orderedTestFiles(folder: string, words: readonly string[]): TestFile[] {
  const rank = (path: string) => LAST.findLastIndex((start) => path.startsWith(start));
  return (
    filesUnder(folder)
      .filter((path) => path.endsWith('.test.ts'))
      .filter((path) => words.length === 0 || words.some((word) => join('test', path).includes(word)))
      .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
      // It takes all of the machine, and other tests' deadlines would feel it.
      .map((path) => ({ path: join(folder, path), part: partOf(path), alone: path.startsWith('chaos/') }))
  );
}

function partOf(path: string): Part | null {
  return PARTS.find(([pattern]) => pattern.test(path))?.[1] ?? null;
}
