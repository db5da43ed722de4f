/** A program of another proxy, started for the bench and ended after it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

export interface Program {
  readonly pid: number;
  stop(): Promise<void>;
}

const START_MS = 15_000;

/**
 * Starts it and waits until `url` answers.
 * @throws Error with its last output where it ends or stays silent
 */
export async function startProgram(command: string, args: readonly string[], url: string): Promise<Program> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (bytes: Buffer): void => {
    output = (output + bytes.toString()).slice(-2_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let failure: string | null = null;
  child.once('error', (error) => {
    failure = error.message;
  });
  const until = performance.now() + START_MS;
  while (!(await answers(url))) {
    const ended = failure ?? (child.exitCode === null ? null : `exit code ${child.exitCode}`);
    if (ended !== null || performance.now() > until) {
      await stop(child);
      throw new Error(`${command} does not answer at ${url} (${ended ?? 'in time'}):\n${output}`);
    }
    await pause(20);
  }
  return { pid: child.pid ?? 0, stop: () => stop(child) };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (answer) => answer.ok,
    () => false,
  );
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
