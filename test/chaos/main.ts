/** `npm run chaos`: a home under load and under attack, and whether every promise was kept. */
import { chaosOptions } from './options.ts';
import { report } from './report.ts';
import { runChaos } from './run.ts';

async function main(): Promise<number> {
  const options = chaosOptions(process.argv.slice(2));
  const run = await runChaos(options, (line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${report(options, run)}\n`);
  return run.findings.length === 0 ? 0 : 1;
}

const code = await main().catch((error: unknown) => {
  process.stderr.write(`✗ ${error instanceof Error ? error.message : String(error)}\n`);
  return 2;
});
// What a failed run left open must not hold the process.
process.stdout.write('', () => process.exit(code));
