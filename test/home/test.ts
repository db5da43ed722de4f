/**
 * `npm test`: sets the bench up, checks the sources, then runs every test file, as many at once as there are cores
 * where they do not need the same part. One summary, in the form of Node's test runner, comes last.
 * `npm test -- WORD` runs only the files with WORD in their path.
 */
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { type Bench, ensureBench, ensureSelfImage } from './bench.ts';
import { stopEngineOf } from './engine.ts';
import { ensureHomeAssistantImage } from './home-assistant/home-assistant.ts';
import { describeFailure } from './lib/failure.ts';
import { repository } from './lib/paths.ts';
import { onTerminal, runStep } from './lib/steps.ts';
import { checkSteps } from './suite/checks.ts';
import { runInLanes } from './suite/lanes.ts';
import { runTestFile } from './suite/one-file.ts';
import { reportTo } from './suite/report.ts';
import { orderedTestFiles, type TestFile } from './suite/test-files.ts';

/** A file that runs longer is named from time to time, so that a run that stands still shows where. */
const TELL_AFTER_MS = 60_000;
const SLOWEST = 12;

async function main(words: readonly string[]): Promise<boolean> {
  const bench = await setUp();
  try {
    const files = orderedTestFiles(join(repository, 'test'), words);
    if (files.length === 0) throw new Error(`no test file has ${words.join(' or ')} in its path`);
    const isAsked = files.some(({ part }) => part === 'home-assistant');
    // Its tests come late, wait for it, and tell what went wrong.
    const image = isAsked ? ensureHomeAssistantImage(bench).catch(() => undefined) : undefined;
    const passed = await runAll(files);
    await image;
    return passed;
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

async function runAll(files: readonly TestFile[]): Promise<boolean> {
  const start = performance.now();
  const report = reportTo(process.stdout);
  const since = new Map<string, number>();
  const took: { readonly path: string; readonly ms: number }[] = [];
  const stop = onTerminal.every(() => tellRunning(since));
  try {
    await runInLanes(files, availableParallelism(), async ({ path }) => {
      since.set(path, performance.now());
      const result = await runTestFile(path);
      since.delete(path);
      took.push({ path, ms: result.ms });
      report.add(result);
    });
  } finally {
    stop();
  }
  const slowest = took.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  onTerminal.say(`slowest: ${slowest.map(({ path, ms }) => `${named(path)} ${seconds(ms)}`).join(', ')}`);
  return report.end(performance.now() - start);
}

function tellRunning(since: ReadonlyMap<string, number>): void {
  for (const [path, start] of since) {
    const ms = performance.now() - start;
    if (ms > TELL_AFTER_MS) onTerminal.say(`… ${named(path)}: ${seconds(ms)}`);
  }
}

const named = (path: string) => relative(join(repository, 'test'), path);
const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;

try {
  process.exitCode = (await main(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = 1;
}
