/** `npm run home`: a home server on this machine, as the contract of the bench describes it. */
import { parseArgs } from 'node:util';
import { ensureBench, ensureSelfImage } from './bench.ts';
import { bringUpHome } from './controller/bring-up.ts';
import { takeDown } from './down.ts';
import { describeFailure } from './lib/failure.ts';
import { onTerminal } from './lib/steps.ts';
import { tellStory } from './story/story.ts';

const usage = `npm run home [-- --config FILE] [--quiet]   bring the home up, or to this configuration
npm run home -- down                        stop it
`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { config: { type: 'string' }, quiet: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  const [command = 'up', ...others] = positionals;
  if (values.help === true || others.length > 0 || !['up', 'down'].includes(command)) {
    process.stdout.write(usage);
    return values.help === true ? 0 : 2;
  }
  if (command === 'down') await takeDown(onTerminal.say);
  else await bringUp(values.quiet !== true, values.config);
  return 0;
}

async function bringUp(story: boolean, config: string | undefined): Promise<void> {
  const bench = await ensureBench();
  const image = await ensureSelfImage(bench);
  const options = { story, ...(config === undefined ? {} : { config }) };
  const home = await bringUpHome(bench, image, options, onTerminal);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (story) await tellStory(home, bench.docker, say);
  say(`\nThe page:      ${home.file.page}`);
  say(`The model API: ${home.file.url}/v1`);
  say('Stop it all with: npm run home -- down');
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = error instanceof TypeError && 'code' in error ? 2 : 1;
}
