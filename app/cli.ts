/** The commands other than `serve`, which the composition root runs itself. */
import { type CliCommand, HELP } from './cli/command.ts';
import { type DrillWorld, runDrill } from './cli/drill.ts';
import { drillLines } from './cli/drill-lines.ts';
import { askState, statusLines } from './cli/status.ts';
import { configJsonSchema, type Outside, parseConfig } from './config.ts';
import { AppError, systemCode } from './errors.ts';

export { type CliCommand, HELP, parseCommand } from './cli/command.ts';

/** What a command may use of the outside. */
export interface CliWorld extends Outside, Pick<DrillWorld, 'confirm' | 'run'> {
  readonly fetch: typeof globalThis.fetch;
  readonly version: string;
  out(text: string): void;
  error(text: string): void;
}

export type ExitCode = 0 | 1 | 2;

export const DEFAULT_CONFIG = '/config/llamastead.yaml';
const DEFAULT_URL = 'http://127.0.0.1:11535';

/** Runs one command; never rejects. */
export async function runCommand(
  command: Exclude<CliCommand, { run: 'serve' }>,
  world: CliWorld,
): Promise<ExitCode> {
  switch (command.run) {
    case 'help':
      world.out(HELP);
      return 0;
    case 'version':
      world.out(command.json ? json({ version: world.version }) : `llamastead ${world.version}\n`);
      return 0;
    case 'wrong_use':
      world.error(`llamastead: ${command.message}\nTry: llamastead --help\n`);
      return 2;
    case 'config_schema':
      world.out(json(configJsonSchema()));
      return 0;
    case 'config_check':
      return checkConfig(command.config, command.json, world);
    case 'status':
      return status(command, world);
    case 'drill':
      return drill(command, world);
  }
}

/** `--config`, else LLAMASTEAD_CONFIG, else the default; `named`: by one of the first two. */
export function configPath(
  given: string | null,
  outside: Outside,
): { readonly path: string; readonly named: boolean } {
  const path = given ?? outside.variable('LLAMASTEAD_CONFIG') ?? null;
  return { path: path ?? DEFAULT_CONFIG, named: path !== null };
}

/**
 * The text of the configuration file; null where there is none and none was named. Throws AppError
 * `config_unreadable`.
 */
export function readConfigText(
  given: string | null,
  outside: Outside,
): { readonly path: string; readonly text: string | null } {
  const { path, named } = configPath(given, outside);
  try {
    return { path, text: outside.readFile(path) };
  } catch (thrown) {
    if (!named && systemCode(thrown) === 'ENOENT') return { path, text: null };
    throw new AppError('config_unreadable', `${path} cannot be read: ${AppError.from(thrown).message}`, {
      cause: thrown,
    });
  }
}

/** 0 valid, 1 unreadable, 2 wrong. */
function checkConfig(given: string | null, asJson: boolean, world: CliWorld): ExitCode {
  try {
    const { path, text } = readConfigText(given, world);
    const parsed = parseConfig(text, path, world);
    const problems = parsed.ok ? [] : parsed.problems;
    const notices = parsed.ok ? parsed.notices : [];
    if (asJson) world.out(json({ ok: parsed.ok, file: path, exists: text !== null, problems, notices }));
    else if (!parsed.ok) world.error(problems.map((problem) => `${problem.text}\n`).join(''));
    else {
      const verdict = text === null ? `${path} does not exist: the defaults hold` : `${path} is valid`;
      world.out([verdict, ...notices].map((line) => `${line}\n`).join(''));
    }
    return parsed.ok ? 0 : 2;
  } catch (thrown) {
    return failed(thrown, asJson, world, 1);
  }
}

/** 0 well, 1 problems or no answer. */
async function status(command: Extract<CliCommand, { run: 'status' }>, world: CliWorld): Promise<ExitCode> {
  const controller = controllerOf(command, world);
  if (controller === null) return 2;
  try {
    const { url, token } = controller;
    const { raw, state } = await askState(world.fetch, url, token);
    world.out(command.json ? json(raw) : `${statusLines(state).join('\n')}\n`);
    return state.problems.length === 0 ? 0 : 1;
  } catch (thrown) {
    return failed(thrown, command.json, world, 1);
  }
}

/** Of errors: what was asked is wrong. */
const WRONG_USE: readonly string[] = ['wrong_use', 'unknown_model', 'invalid_request'];

/** 0 passed or not applicable, 1 failed, refused, broken off or not wanted, 2 wrong use. */
async function drill(command: Extract<CliCommand, { run: 'drill' }>, world: CliWorld): Promise<ExitCode> {
  const controller = controllerOf(command, world);
  if (controller === null) return 2;
  try {
    const report = await runDrill(command, controller, {
      confirm: world.confirm,
      run: world.run,
      apiKey: world.variable('LLAMASTEAD_API_KEY') ?? null,
      say: command.json ? world.error : world.out,
    });
    if (report === null) return 1;
    world.out(command.json ? json(report) : `${drillLines(report).join('\n')}\n`);
    return report.verdict === 'failed' ? 1 : 0;
  } catch (thrown) {
    const wrong = WRONG_USE.includes(AppError.from(thrown).code);
    return failed(thrown, command.json, world, wrong ? 2 : 1);
  }
}

/** Where the running controller is; null: told that it is no URL. */
function controllerOf(
  command: { readonly url: string | null; readonly token: string | null },
  world: CliWorld,
): { readonly url: string; readonly token: string | null } | null {
  const url = command.url ?? world.variable('LLAMASTEAD_URL') ?? DEFAULT_URL;
  if (URL.canParse(url)) return { url, token: command.token ?? world.variable('LLAMASTEAD_TOKEN') ?? null };
  world.error(`llamastead: ${url} is no URL; expected one such as ${DEFAULT_URL}\n`);
  return null;
}

function failed(thrown: unknown, asJson: boolean, world: CliWorld, code: ExitCode): ExitCode {
  const error = AppError.from(thrown);
  if (asJson) world.out(json({ error: { code: error.code, message: error.message } }));
  else world.error(`llamastead: ${error.message}\n`);
  return code;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
