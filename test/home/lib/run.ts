import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CommandFailure } from './failure.ts';

export interface RunOptions {
  cwd?: string;
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** Called for each line of standard output and standard error. */
  onLine?: (line: string) => void;
  /** Ends the program. */
  signal?: AbortSignal;
}

const keptLines = 20;

/**
 * Runs a program to its end.
 * @returns its standard output, without the last line break
 * @throws CommandFailure with the last lines of both outputs
 */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: options.signal,
  });
  const stdout: string[] = [];
  const last: string[] = [];
  const note = (line: string) => {
    last.push(line);
    if (last.length > keptLines) last.shift();
    options.onLine?.(line);
  };
  const name = `${command} ${args[0] ?? ''}`.trim();
  createInterface(child.stdout).on('line', (line) => {
    stdout.push(line);
    note(line);
  });
  createInterface(child.stderr).on('line', note);
  child.on('error', (error) =>
    reject(new CommandFailure(`${name} could not be run: ${error.message}`, last.join('\n'))),
  );
  child.on('close', (code, killedBy) => {
    if (code === 0) resolve(stdout.join('\n'));
    else reject(new CommandFailure(`${name} ended with ${killedBy ?? `exit code ${code}`}`, last.join('\n')));
  });
  return promise;
}
