/**
 * `npm run mutation -- FILE...`: changes the files of `app/core` here and there and asks whether its tests notice.
 * What survives is listed, with all else in `.mutation/report.json`; one process at a time.
 */
import { join, relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { repository } from '../home/lib/paths.ts';

const USAGE = 'npm run mutation -- app/core/FILE.ts ...';

function checked(files: readonly string[]): readonly string[] {
  if (files.length === 0) throw new Error(`no file: expected some of app/core\n${USAGE}`);
  for (const file of files) {
    if (!/^app\/core\/[\w-]+\.ts$/.test(file))
      throw new Error(`${file}: expected a file of app/core\n${USAGE}`);
  }
  return files;
}

type Mutant = Awaited<ReturnType<Stryker['runMutationTest']>>[number];

/** How many mutants of a file were noticed, of how many; those that no test runs count as not noticed. */
function told(file: string, mutants: readonly Mutant[]): string {
  const counted = mutants.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError');
  const noticed = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout').length;
  const percent = ((100 * noticed) / counted.length).toFixed(1);
  return `${file}: ${noticed} of ${counted.length} mutants noticed (${percent} %)\n`;
}

try {
  const files = checked(process.argv.slice(2));
  const mutants = await new Stryker({
    configFile: join(import.meta.dirname, 'stryker.config.json'),
    mutate: [...files],
  }).runMutationTest();
  for (const file of files) {
    const own = mutants.filter(({ fileName }) => relative(repository, fileName) === file);
    process.stdout.write(told(file, own));
  }
} catch (error) {
  process.stderr.write(`✗ ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
