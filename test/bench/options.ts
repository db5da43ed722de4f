/** The command line of `npm run bench`. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';

export const PARTS = ['forwarding', 'warm', 'cold', 'idle', 'rest'] as const;
export type Part = (typeof PARTS)[number];

export interface Options {
  readonly parts: readonly Part[];
  readonly rounds: number;
  readonly seconds: number;
  /** Also measure what Node itself takes, with less and less done in it. */
  readonly floor: boolean;
  /** The binary to measure against; null: none on this machine. */
  readonly llamaSwap: string | null;
}

export const USAGE = `usage: npm run bench -- [--only PART,...] [--rounds N] [--seconds N] [--floor] [--llama-swap FILE]
  --only        of ${PARTS.join(', ')}; else all
  --rounds      rounds of forwarding (5)
  --seconds     of one block of small completions (2)
  --floor       also a bare server of node:http, and a pipe that reads no HTTP
  --llama-swap  its binary; else the one on the PATH, if any`;

/** Throws an Error that says what was expected. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      floor: { type: 'boolean', default: false },
      'llama-swap': { type: 'string' },
    },
  });
  return {
    parts: values.only === undefined ? PARTS : values.only.split(',').map(part),
    rounds: positive('rounds', values.rounds),
    seconds: positive('seconds', values.seconds),
    floor: values.floor,
    llamaSwap: values['llama-swap'] ?? onPath('llama-swap'),
  };
}

function part(name: string): Part {
  const found = PARTS.find((each) => each === name);
  if (found === undefined) throw new Error(`--only ${name}: expected one of ${PARTS.join(', ')}`);
  return found;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0) return value;
  throw new Error(`--${name} ${text}: expected a number over 0`);
}

function onPath(command: string): string | null {
  const files = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, command));
  return files.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
