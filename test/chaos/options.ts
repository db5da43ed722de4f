import { parseArgs } from 'node:util';

export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly clients: number;
  /** Where all that was seen is kept as JSON; null: nowhere. */
  readonly evidence: string | null;
}

const USAGE = 'npm run chaos -- [--minutes N] [--seed S] [--clients N] [--evidence FILE]';

/** @throws an Error that names the argument, its value and what was expected */
export function chaosOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      clients: { type: 'string', default: '20' },
      evidence: { type: 'string' },
    },
  });
  return {
    minutes: number('minutes', values.minutes, 0.1),
    seed: number('seed', values.seed, 0),
    clients: number('clients', values.clients, 1),
    evidence: values.evidence ?? null,
  };
}

function number(name: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= least) return value;
  throw new Error(`--${name} ${text}: expected a number of at least ${least}\n${USAGE}`);
}
