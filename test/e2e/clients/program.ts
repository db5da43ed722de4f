/** A client that is a program: its lines as they come, its end by its exit code. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/**
 * @param line called with each line of its output
 * @returns all of its output
 * @throws an Error with what it said where its exit code is not 0
 */
export function runProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  line: (text: string) => void = () => {},
): Promise<string> {
  const program = startProgram(command, args, env, line);
  program.close();
  return program.ended;
}

export interface Program {
  /** Writes a line to it. */
  tell(line: string): void;
  /** Its input is over: it ends. */
  close(): void;
  /** Resolves with all of its output; rejects with what it said where its exit code is not 0. */
  readonly ended: Promise<string>;
}

/** A program that goes on while it has input. `line` is called with each line of its output. */
export function startProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  line: (text: string) => void,
): Program {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  return {
    tell: (text) => void child.stdin.write(`${text}\n`),
    close: () => void child.stdin.end(),
    ended: endOf(command, child, line),
  };
}

async function endOf(
  command: string,
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  line: (text: string) => void,
): Promise<string> {
  const said: string[] = [];
  const complaints: string[] = [];
  createInterface(child.stdout).on('line', (text) => {
    said.push(text);
    line(text);
  });
  createInterface(child.stderr).on('line', (text) => complaints.push(text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${complaints.slice(-8).join('\n')}`);
  return said.join('\n');
}
