/** `npm run home`: a home server on this machine, as the contract of the bench describes it. */
import { parseArgs } from 'node:util';
import { ensureBench, ensureSelfImage } from './bench.ts';
import { bringUpHome } from './controller/bring-up.ts';
import { takeDown } from './down.ts';
import { bringUpHomeAssistant } from './home-assistant/beside-home.ts';
import { LOGIN } from './home-assistant/seed.ts';
import { describeFailure } from './lib/failure.ts';
import { onTerminal } from './lib/steps.ts';
import { tellStory } from './story/story.ts';

const usage = `npm run home                      bring the home up, or to this configuration, and show the main job
npm run home -- down              stop it
options, after --:
  --config FILE                   a llamastead.yaml to merge over the bench's own
  --quiet                         leave the story out
  --with home-assistant           bring Home Assistant up too
`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      config: { type: 'string' },
      quiet: { type: 'boolean' },
      with: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const [command = 'up', ...others] = positionals;
  const unknown = others.length > 0 || !['up', 'down'].includes(command);
  const withAssistant = values.with === 'home-assistant';
  if (values.help === true || unknown || (values.with !== undefined && !withAssistant)) {
    process.stdout.write(usage);
    return values.help === true ? 0 : 2;
  }
  if (command === 'down') await takeDown(onTerminal.say);
  else await bringUp({ story: values.quiet !== true, withAssistant }, values.config);
  return 0;
}

interface Wishes {
  story: boolean;
  withAssistant: boolean;
}

async function bringUp({ story, withAssistant }: Wishes, config: string | undefined): Promise<void> {
  const bench = await ensureBench();
  const image = await ensureSelfImage(bench);
  const options = { story, ...(config === undefined ? {} : { config }) };
  const home = await bringUpHome(bench, image, options, onTerminal);
  const assistant = withAssistant ? await bringUpHomeAssistant(bench, home, onTerminal) : undefined;
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (story) await tellStory(home, bench.docker, say);
  say(`\nThe page:      ${home.file.page}`);
  say(`The model API: ${home.file.url}/v1`);
  if (assistant !== undefined) {
    say(`Home Assistant: ${assistant.url} (${LOGIN.username} / ${LOGIN.password})`);
  }
  say('Stop it all with: npm run home -- down');
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`);
  process.exitCode = error instanceof TypeError && 'code' in error ? 2 : 1;
}
