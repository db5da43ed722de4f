import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { PROBLEM_CODES } from '../../app/web/text/problems.ts';

const APP = join(import.meta.dirname, '../../app');

/** `code` beside `text` and `fix`: a problem that the page may have to tell. */
const PROBLEM = /code: '([a-z_]+)',\s+(?:model[^\n]*\s+)?text/g;

describe("the server's problems", () => {
  it('have words in every language of the page', async () => {
    const told = new Set<string>();
    for await (const file of glob('**/*.ts', { cwd: APP, exclude: ['web/**'] })) {
      const source = await readFile(join(APP, file), 'utf8');
      for (const [, code] of source.matchAll(PROBLEM)) told.add(code ?? '');
    }
    assert.ok(told.size > 20, `${told.size} found`);
    const known: readonly string[] = PROBLEM_CODES;
    assert.deepEqual(
      [...told].filter((code) => !known.includes(code)),
      [],
    );
  });
});
