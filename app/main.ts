#!/usr/bin/env node
/** The program: the only reader of environment, arguments and signals. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import pkg from '../package.json' with { type: 'json' };
import { type CliWorld, parseCommand, readConfigText, runCommand } from './cli.ts';
import { systemClock } from './clock.ts';
import { type ParsedConfig, parseConfig } from './config.ts';
import { AppError } from './errors.ts';
import { type Log, makeLog } from './log.ts';
import { LOOK_EACH, tidying } from './serve/tidy.ts';
import { serve } from './serve.ts';

/** A fault of the program itself: ended at once, started again by Docker, which adopts its instances. */
const EXIT_FAULT = 70;

/** What belongs to a start is over by then. */
const STARTED_MS = 8_000;

const world: CliWorld = {
  variable: (name) => process.env[name],
  readFile: (path) => readFileSync(path, 'utf8'),
  fetch: globalThis.fetch,
  version: pkg.version,
  confirm: process.stdin.isTTY ? confirm : null,
  run: runInShell,
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(text),
};

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

/** What it prints is for people: standard output is the report's. */
async function runInShell(command: string): Promise<number> {
  const child = spawn(command, { shell: true, stdio: ['ignore', 2, 2] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function runServe(given: string | null): Promise<void> {
  const { path, text } = readConfigText(given, world);
  const parsed = parseConfig(text, path, world);
  if (!parsed.ok) {
    for (const problem of parsed.problems) world.error(`${problem.text}\n`);
    process.exitCode = 2;
    return;
  }
  const log = makeLog(parsed.config.log.level);
  const fault = (thrown: unknown): void => {
    log.logger.fatal(
      { err: AppError.from(thrown) },
      'a fault of Llamastead itself; it ends and is started again',
    );
    process.exit(EXIT_FAULT);
  };
  process.on('uncaughtException', fault);
  process.on('unhandledRejection', fault);
  const service = await serve({
    loaded: parsed,
    readConfig: () => again(path, given),
    configPath: path,
    clock: systemClock,
    log,
    version: pkg.version,
  });
  log.logger.info({ url: service.url, version: pkg.version }, 'Llamastead is ready');
  endOnSignals(service, log);
  tidyUp(service);
  process.on('SIGHUP', () => void service.reload());
}

/** Without `--expose-gc`, as a developer starts it, all stays as V8 likes it. */
function tidyUp({ isIdle }: { isIdle(): boolean }): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  const look = tidying({
    isIdle,
    held: () => process.memoryUsage.rss(),
    // Of the flavours only this one makes the young generation small again.
    collect: () => gc({ type: 'major', flavor: 'last-resort', execution: 'async' }),
  });
  const first = setTimeout(() => {
    void look();
    setInterval(() => void look(), LOOK_EACH).unref();
  }, STARTED_MS);
  first.unref();
}

/** A file that cannot be read is a wrong file: the running configuration stays. */
function again(path: string, given: string | null): ParsedConfig {
  try {
    return parseConfig(readConfigText(given, world).text, path, world);
  } catch (thrown) {
    const text = AppError.from(thrown).message;
    const problem = {
      file: path,
      line: null,
      key: '',
      value: null,
      suggestion: null,
      expected: 'a readable file',
      text,
    };
    return { ok: false, problems: [problem] };
  }
}

/** The first signal drains, the second one ends at once. */
function endOnSignals(service: { stop(): Promise<void> }, log: Log): void {
  let ending = false;
  const end = (signal: string): void => {
    if (ending) process.exit(1);
    ending = true;
    log.logger.info({ signal }, 'Llamastead ends');
    void service.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}

const command = parseCommand(process.argv.slice(2));
try {
  if (command.run === 'serve') await runServe(command.config);
  else process.exitCode = await runCommand(command, world);
} catch (thrown) {
  const error = AppError.from(thrown);
  world.error(`llamastead: ${error.message}\n`);
  process.exitCode = error.code === 'config_unreadable' ? 2 : 1;
}
