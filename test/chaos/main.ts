/** `npm run chaos`: a home under load and under attack, and whether every promise was kept. */
import { chaosOptions } from './options.ts';
import { report } from './report.ts';
import { runChaos } from './run.ts';

try {
  const options = chaosOptions(process.argv.slice(2));
  const run = await runChaos(options, (line) => process.stderr.write(`  ${line}\n`));
  process.stdout.write(`${report(options, run)}\n`);
  process.exitCode = run.findings.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`✗ ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
