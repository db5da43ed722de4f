/** A client that is a program: its lines as they come, its end by its exit code. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * @param line called with each line of its output
 * @returns all of its output
 * @throws an Error with what it said where its exit code is not 0
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  line: (text: string) => void = () => {},
): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
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
