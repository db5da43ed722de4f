/**
 * Runs the core's tests for Stryker, in the process that Stryker gives it: they are loaded once, and for each mutant
 * those run that come to its place. A process for each mutant would cost more than its tests.
 */
import { readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { InstrumenterContext, MutantCoverage } from '@stryker-mutator/api/core';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner';
import { fc } from '../support/property.ts';
import { collected } from './collected.ts';

const TESTS = 'test/core';
/** Random sequences of everything: they take longer than all others, and notice a mutant by luck. */
const LEFT_OUT = 'invariants.test.ts';
/** A place that is come to so many times as often as in all tests without a mutant is in an endless loop. */
const ENDLESS = 10;
/** By which Stryker has multiplied its limit of them. */
const STRYKERS_FACTOR = 100;

/** What Stryker's instrumented files read and write. */
const shared: InstrumenterContext = {};
Object.assign(globalThis, { __stryker__: shared });

interface Loaded {
  readonly id: string;
  readonly body: () => unknown;
  /** Of its last run that was well. */
  ms: number;
}

/** Loads the tests of Stryker's copy, whose instrumented core they import. */
async function load(): Promise<Loaded[]> {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'node:test'
        ? { url: new URL('./collected.ts', import.meta.url).href, shortCircuit: true }
        : next(specifier, context),
  });
  const loaded: Loaded[] = [];
  for (const file of readdirSync(TESTS).sort()) {
    if (!file.endsWith('.test.ts') || file === LEFT_OUT) continue;
    await import(pathToFileURL(join(process.cwd(), TESTS, file)).href);
    for (const { name, body } of collected.splice(0)) loaded.push({ id: `${file}: ${name}`, body, ms: 0 });
  }
  return loaded;
}

async function run(test: Loaded): Promise<TestResult> {
  // The same numbers for each mutant; a smaller example of a failure is not asked for.
  fc.configureGlobal({ seed: 1, endOnFailure: true });
  const began = performance.now();
  const told = { id: test.id, name: test.id };
  try {
    await test.body();
    const timeSpentMs = Math.ceil(performance.now() - began);
    return { ...told, timeSpentMs, status: TestStatus.Success };
  } catch (error) {
    const timeSpentMs = Math.ceil(performance.now() - began);
    const failureMessage = error instanceof Error ? error.message : String(error);
    return { ...told, timeSpentMs, status: TestStatus.Failed, failureMessage };
  }
}

/**
 * A place that tests come to is left to them, though loading the files came there too (a table that is made beside
 * its tests): only for what loading alone comes to is a process of its own worth its time.
 */
function withoutTwice(coverage: MutantCoverage = { static: {}, perTest: {} }): MutantCoverage {
  const tested = new Set(Object.values(coverage.perTest).flatMap(Object.keys));
  const loaded = Object.entries(coverage.static).filter(([mutant]) => !tested.has(mutant));
  return { static: Object.fromEntries(loaded), perTest: coverage.perTest };
}

/** Runs these, the quick ones first, until one notices the mutant. */
async function untilNoticed(tests: readonly Loaded[], hitLimit: number): Promise<DryRunResult> {
  const results: TestResult[] = [];
  for (const test of tests.toSorted((a, b) => a.ms - b.ms)) {
    Object.assign(shared, { hitCount: 0, hitLimit });
    const result = await run(test);
    if ((shared.hitCount ?? 0) > hitLimit)
      return { status: DryRunStatus.Timeout, reason: `an endless loop in ${test.id}` };
    results.push(result);
    if (result.status === TestStatus.Failed) break;
    test.ms = result.timeSpentMs;
  }
  return { status: DryRunStatus.Complete, tests: results };
}

function makeCoreRunner(): TestRunner {
  let tests: Loaded[] | null = null;

  async function dryRun(): Promise<DryRunResult> {
    tests ??= await load();
    const results: TestResult[] = [];
    for (const test of tests) {
      shared.currentTestId = test.id;
      results.push(await run(test));
    }
    delete shared.currentTestId;
    return {
      status: DryRunStatus.Complete,
      tests: results,
      mutantCoverage: withoutTwice(shared.mutantCoverage),
    };
  }

  async function mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, mutantActivation, testFilter, hitLimit } = options;
    // Where loading the files comes to its place, the mutant has to be active already.
    if (mutantActivation === 'static') shared.activeMutant = activeMutant.id;
    try {
      tests ??= await load();
    } catch (error) {
      return { status: MutantRunStatus.Killed, killedBy: [], nrOfTests: 0, failureMessage: String(error) };
    }
    shared.activeMutant = activeMutant.id;
    const chosen = testFilter === undefined ? tests : tests.filter(({ id }) => testFilter.includes(id));
    const most = hitLimit === undefined ? Number.POSITIVE_INFINITY : (hitLimit / STRYKERS_FACTOR) * ENDLESS;
    return toMutantRunResult(await untilNoticed(chosen, most));
  }

  return { capabilities: () => ({ reloadEnvironment: false }), dryRun, mutantRun };
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'core', makeCoreRunner)];
