/** Which tests concern a file of the core. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The scripted world runs all decisions: a test on it may meet any of them. */
const WORLD = 'support/world.ts';
/** Slow and of everything: it comes last. */
const LAST = 'invariants.test.ts';

/**
 * Tests that import the file or bear its name, then those that run in the scripted world.
 * @param folder of the core's tests
 * @param file of the core
 * @returns names in the folder
 */
export function concerning(folder: string, file: string): readonly string[] {
  const name = basename(file);
  const ranked = readdirSync(folder)
    .filter((test) => test.endsWith('.test.ts'))
    .map((test) => {
      const text = readFileSync(join(folder, test), 'utf8');
      const near = text.includes(`/core/${name}'`) || test === name.replace(/\.ts$/, '.test.ts');
      return { test, rank: near ? 0 : text.includes(WORLD) ? 1 : null };
    })
    .filter((one): one is { test: string; rank: number } => one.rank !== null);
  const rank = (one: { test: string; rank: number }) => (one.test === LAST ? 2 : one.rank);
  return ranked.sort((a, b) => rank(a) - rank(b)).map(({ test }) => test);
}
