/**
 * `npm run bench`: measures Llamastead from outside, the real program on a real Docker engine, beside the upstream
 * itself and other proxies in the same run. Prints a table, writes it with all samples to .bench/.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBench } from '../home/bench.ts';
import { describeFailure } from '../home/lib/failure.ts';
import { repository } from '../home/lib/paths.ts';
import { measureCold } from './failures/cold.ts';
import { measureIdle } from './failures/idle.ts';
import { measureRest } from './failures/rest.ts';
import { ask, measureWarm } from './failures/warm.ts';
import { measureForwarding } from './forwarding/forwarding.ts';
import { newSamples, type Samples } from './measure/samples.ts';
import { type Options, type Part, parseOptions, USAGE } from './options.ts';
import { described, type Machine, machine } from './report/machine.ts';
import { OURS, rowsOf } from './report/rows.ts';
import { table } from './report/table.ts';
import { startStubHome } from './targets/home.ts';
import { type Least, startLeast, startLlamaSwap } from './targets/proxies.ts';
import { ensureStubImage } from './targets/stub-image.ts';
import type { Target } from './targets/target.ts';

const NAME = 'bench-forward';
const WARM_CONTROLLERS = 5;
const COLD_TRIALS = 7;
const IDLE_TRIALS = 6;
const REST = { watchMs: 30_000, loadMs: 8_000 };
const MS_A_SECOND = 1_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function forwarding(stub: string, samples: Samples, options: Options): Promise<void> {
  const home = await startStubHome(NAME, stub, { model: { placements: ['cpu'], idleUnload: 'never' } });
  const endings: (() => Promise<void>)[] = [home.controller.close];
  try {
    await ask(home, {});
    const url = await home.upstream('cpu');
    // The upstream's share of the processor is not what is measured.
    await home.controller.docker(
      'update',
      '--cpu-shares',
      '1024',
      await home.controller.container('stub', 'cpu'),
    );
    const targets: Target[] = [{ name: 'direct', url, model: 'stub', pid: null }, home.target];
    const { llamaSwap } = options;
    const proxies = leastOf(options).map((name) => () => startLeast(name, url));
    if (llamaSwap !== null) proxies.push(() => startLlamaSwap(llamaSwap, url));
    for (const start of proxies) {
      const { target, stop } = await start();
      endings.unshift(stop);
      targets.push(target);
    }
    const effort = { rounds: options.rounds, blockMs: options.seconds * MS_A_SECOND };
    await measureForwarding(targets, samples, effort, say);
  } finally {
    for (const end of endings) await end();
  }
}

function leastOf({ floor }: Options): readonly Least[] {
  return floor ? ['pass-through', 'bare-http', 'pipe'] : ['pass-through'];
}

function partsOf(stub: string, samples: Samples, options: Options): Record<Part, () => Promise<void>> {
  return {
    forwarding: () => forwarding(stub, samples, options),
    warm: () => measureWarm(stub, WARM_CONTROLLERS, samples),
    cold: () => measureCold(stub, COLD_TRIALS, samples),
    idle: () => measureIdle(IDLE_TRIALS, samples),
    rest: () => measureRest(stub, REST, samples),
  };
}

/** Writes what there is so far, and returns the table. */
function report(on: Machine, samples: Samples, options: Options): string {
  const swap = options.llamaSwap === null ? [] : ['llama-swap'];
  const targets = ['direct', ...leastOf(options).toReversed(), ...swap];
  const rows = rowsOf(samples, targets);
  const text = `${table(rows, targets)}\n\n${described(on)}\n`;
  const faults = samples.faults();
  const values = Object.fromEntries(
    samples
      .metrics()
      .map((metric) => [
        metric,
        Object.fromEntries([OURS, 'bare', ...targets].map((name) => [name, samples.of(metric, name)])),
      ]),
  );
  const folder = join(repository, '.bench');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'bench.json'),
    JSON.stringify({ machine: on, options, rows, faults, values }, null, 1),
  );
  writeFileSync(join(folder, 'bench.md'), text);
  return text;
}

function tellFaults(samples: Samples): void {
  for (const [what, { count, example }] of Object.entries(samples.faults())) {
    say(`! ${what}: ${count}, such as ${example}`);
    process.exitCode = 1;
  }
}

/** A part that fails is told, and the others go on. */
async function run(part: Part, work: () => Promise<void>): Promise<void> {
  const start = performance.now();
  say(`… ${part}`);
  try {
    await work();
    say(`✓ ${part} (${((performance.now() - start) / MS_A_SECOND).toFixed(0)} s)`);
  } catch (error) {
    say(`✗ ${part}: ${describeFailure(error)}`);
    process.exitCode = 1;
  }
}

async function main(options: Options): Promise<void> {
  const bench = await ensureBench();
  const stub = await ensureStubImage(bench);
  const on = await machine(bench.docker);
  const samples = newSamples();
  const parts = partsOf(stub, samples, options);
  for (const part of options.parts) {
    await run(part, parts[part]);
    report(on, samples, options);
  }
  process.stdout.write(report(on, samples, options));
  tellFaults(samples);
}

function optionsOrUsage(): Options | null {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    process.exitCode = 2;
    return null;
  }
}

const options = optionsOrUsage();
try {
  if (options !== null) await main(options);
} catch (error) {
  say(describeFailure(error));
  process.exitCode = 1;
}
