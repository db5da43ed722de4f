/**
 * `npm test`: sets the bench up, checks the sources, then runs every test in one run of Node's test runner, whose
 * summary comes last. `npm test -- WORD` runs only the files with WORD in their path.
 */
import { join } from 'node:path';
import { run as runTests } from 'node:test';
import { spec } from 'node:test/reporters';
import { type Bench, ensureBench, ensureSelfImage } from './bench.ts';
import { stopEngineOf } from './engine.ts';
import { describeFailure } from './lib/failure.ts';
import { repository } from './lib/paths.ts';
import { onTerminal, runStep } from './lib/steps.ts';
import { checkSteps } from './suite/checks.ts';
import { orderedTestFiles } from './suite/test-files.ts';

async function main(words: readonly string[]): Promise<boolean> {
  const bench = await setUp();
  try {
    const files = orderedTestFiles(join(repository, 'test'), words);
    if (files.length === 0) throw new Error(`no test file has ${words.join(' or ')} in its path`);
    return await runAll(files);
  } finally {
    if (await stopEngineOf(repository, bench.docker)) onTerminal.say('✓ Docker engine: stopped');
  }
}

/** The checks first: what they find is told before anything slow. */
async function setUp(): Promise<Bench> {
  await Promise.all(checkSteps().map((step) => runStep(step, onTerminal)));
  const bench = await ensureBench();
  await ensureSelfImage(bench);
  return bench;
}

/** One file at a time: tests on real containers share two cores, and what they measure must not be another's work. */
async function runAll(files: readonly string[]): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let failed = false;
  const stream = runTests({ files: [...files], concurrency: 1 });
  stream.on('test:fail', (event) => {
    // A test that is marked as to do may fail.
    if (event.todo === undefined) failed = true;
  });
  const report = stream.compose(spec);
  report.on('error', reject);
  report.on('end', () => resolve(!failed));
  report.pipe(process.stdout, { end: false });
  return promise;
}

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 1;
}
