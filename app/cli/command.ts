/** What the command line asks for. Pure. */
import { parseArgs } from 'node:util';
import { DRILL_SCENARIOS } from '../core/drill.ts';
import { nearest } from '../core/nearest.ts';
import type { DrillCommand } from './drill.ts';

export type CliCommand =
  | { readonly run: 'serve'; readonly config: string | null }
  | {
      readonly run: 'status';
      readonly url: string | null;
      readonly token: string | null;
      readonly json: boolean;
    }
  | ({
      readonly run: 'drill';
      readonly url: string | null;
      readonly token: string | null;
      readonly json: boolean;
    } & DrillCommand)
  | { readonly run: 'config_check'; readonly config: string | null; readonly json: boolean }
  | { readonly run: 'config_schema' }
  | { readonly run: 'help' }
  | { readonly run: 'version'; readonly json: boolean }
  | { readonly run: 'wrong_use'; readonly message: string };

export const HELP = `Usage: llamastead [COMMAND] [OPTIONS]

Commands:
  serve          run the controller (the default)
  status         what a running controller does: models, memory, problems
  drill [NAME]   fail a model on purpose and report: ${DRILL_SCENARIOS.slice(0, 5).join(', ')},
                 ${DRILL_SCENARIOS.slice(5).join(', ')} (default: kill)
  config check   validate the configuration file
  config schema  print the JSON schema of the configuration file

Options:
  --config FILE  configuration file; else LLAMASTEAD_CONFIG, else /config/llamastead.yaml
  --url URL      the running controller; else LLAMASTEAD_URL, else http://127.0.0.1:11535
  --token TOKEN  its admin token; else LLAMASTEAD_TOKEN
  --model NAME   the model of a drill; not needed where there is one
  --yes          run the drill without asking
  --restart CMD  what restarts Llamastead, for the drill controller-restart
  --json         print JSON
  --version      print the version
  --help         print this text

Exit code: 0 good, 1 found something or failed, 2 wrong use or a wrong configuration.
`;

const COMMANDS = ['serve', 'status', 'drill', 'config'];

const OPTIONS = {
  config: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string' },
  model: { type: 'string' },
  scenario: { type: 'string' },
  restart: { type: 'string' },
  yes: { type: 'boolean' },
  json: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Which options a command takes beside `--json`. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  serve: ['config'],
  status: ['url', 'token'],
  drill: ['url', 'token', 'model', 'scenario', 'restart', 'yes'],
  config: ['config'],
};

/** `argv`: the arguments after the program's name. */
export function parseCommand(argv: readonly string[]): CliCommand {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(argv);
  } catch (thrown) {
    return wrong(thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown));
  }
  const { values, positionals } = parsed;
  if (values.help) return { run: 'help' };
  if (values.version) return { run: 'version', json: values.json };
  const [command = 'serve', ...rest] = positionals;
  if (!COMMANDS.includes(command)) return wrong(unknown('command', command, COMMANDS));
  const misplaced = (['config', 'url', 'token', 'model', 'scenario', 'restart', 'yes'] as const).find(
    (option) => values[option] !== undefined && !TAKES[command]?.includes(option),
  );
  if (misplaced !== undefined) return wrong(`${command} takes no --${misplaced}`);
  if (command === 'config') return configCommand(rest, values);
  if (command === 'drill') return drillCommand(rest, values);
  if (rest.length > 0) return wrong(`${command} takes no argument, but got ${rest.join(' ')}`);
  const { url = null, token = null, config = null, json } = values;
  return command === 'status' ? { run: 'status', url, token, json } : { run: 'serve', config };
}

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
}

function configCommand(
  rest: readonly string[],
  values: { readonly config?: string | undefined; readonly json: boolean },
): CliCommand {
  const [what, ...more] = rest;
  if (what === undefined) return wrong('config needs what to do: check or schema');
  if (what !== 'check' && what !== 'schema')
    return wrong(unknown('config command', what, ['check', 'schema']));
  if (more.length > 0) return wrong(`config ${what} takes no argument, but got ${more.join(' ')}`);
  if (what === 'check') return { run: 'config_check', config: values.config ?? null, json: values.json };
  return values.config === undefined ? { run: 'config_schema' } : wrong('config schema takes no --config');
}

function drillCommand(rest: readonly string[], values: ReturnType<typeof parse>['values']): CliCommand {
  const [named, ...more] = rest;
  if (more.length > 0) return wrong(`drill takes one scenario, but got ${rest.join(' ')}`);
  if (named !== undefined && values.scenario !== undefined)
    return wrong('drill takes its scenario once: as a word, or by --scenario');
  const name = named ?? values.scenario ?? 'kill';
  const scenario = DRILL_SCENARIOS.find((each) => each === name);
  if (scenario === undefined) return wrong(unknown('scenario', name, DRILL_SCENARIOS));
  if (values.restart !== undefined && scenario !== 'controller-restart')
    return wrong(`drill ${scenario} takes no --restart`);
  const { url = null, token = null, model = null, yes = false, restart = null, json } = values;
  return { run: 'drill', url, token, json, scenario, model, yes, restart };
}

function unknown(what: string, word: string, known: readonly string[]): string {
  const near = nearest(word, known);
  return `there is no ${what} ${word}${near === null ? `; there is ${known.join(', ')}` : `; did you mean ${near}?`}`;
}

function wrong(message: string): CliCommand {
  return { run: 'wrong_use', message };
}
