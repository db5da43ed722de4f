/**
 * `npm run mutation -- FILE...`: changes the files of `app/core` here and there and asks whether the tests notice.
 * One file after the other, each with the tests that concern it, one process at a time.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { repository } from '../home/lib/paths.ts';
import { concerning } from './concerning.ts';

const TESTS = 'test/core';
const USAGE = 'npm run mutation -- app/core/FILE.ts ...';

function checked(files: readonly string[]): readonly string[] {
  if (files.length === 0) throw new Error(`no file: expected some of app/core\n${USAGE}`);
  for (const file of files) {
    if (!/^app\/core\/[\w-]+\.ts$/.test(file))
      throw new Error(`${file}: expected a file of app/core\n${USAGE}`);
  }
  return files;
}

/** One test file that imports all of them: a process for each would cost more than its tests. */
function allIn(name: string, tests: readonly string[]): string {
  const folder = join(repository, '.mutation/tests');
  mkdirSync(folder, { recursive: true });
  const imports = tests.map((test) => `import '../../${TESTS}/${test}';\n`);
  writeFileSync(join(folder, `${name}.test.ts`), imports.join(''));
  return `.mutation/tests/${name}.test.ts`;
}

/** How many mutants were noticed, of how many; those that no test runs count as not noticed. */
async function mutate(file: string): Promise<string> {
  const name = basename(file, '.ts');
  const tests = concerning(join(repository, TESTS), file);
  const results = await new Stryker({
    configFile: join(import.meta.dirname, 'stryker.config.json'),
    mutate: [file],
    tap: {
      testFiles: [allIn(name, tests)],
      nodeArgs: ['--test-reporter=tap', '-r', '{{hookFile}}', '{{testFile}}'],
      forceBail: true,
    },
    jsonReporter: { fileName: `.mutation/${name}.json` },
  }).runMutationTest();
  const counted = results.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError');
  const noticed = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
  const percent = ((100 * noticed) / counted.length).toFixed(1);
  return `${file}: ${noticed} of ${counted.length} mutants noticed (${percent} %), by ${tests.length} test files`;
}

try {
  const told: string[] = [];
  for (const file of checked(process.argv.slice(2))) told.push(await mutate(file));
  process.stdout.write(`${told.join('\n')}\n`);
} catch (error) {
  process.stderr.write(`✗ ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
