/** All that is measured of forwarding, round by round; the order of the targets turns with each round. */
import { newSamples, type Samples } from '../measure/samples.ts';
import type { Target } from '../targets/target.ts';
import { type Asked, expectedFrom } from './expected.ts';
import { type Field, SEEDS, SMALL } from './field.ts';
import { sequential } from './sequential.ts';
import { streams } from './streams.ts';
import { hammer, throughput } from './throughput.ts';

export interface Effort {
  readonly rounds: number;
  /** Of one block of small completions, ms. */
  readonly blockMs: number;
}

const CONNECTIONS = [16, 64];
const STREAMS = { streams: 64, chunks: 300, interval: 5 };
const MEGABYTE = 1024 * 1024;
const SMALL_ONE = {
  name: 'one',
  count: 300,
  stream: false,
  chunks: SMALL,
  pictureBytes: 0,
  firstByte: false,
};
const FIRST = { name: 'first byte', count: 80, stream: true, chunks: 2, pictureBytes: 0, firstByte: true };
const LARGE = { ...SMALL_ONE, name: '1 MB', count: 25, pictureBytes: MEGABYTE };
/**
 * V8 compiles what a request runs through for its first ten thousand or so, on threads of its own: half as much CPU again
 * as later. What is measured is a program that has run for a while.
 */
const WARM = { connections: 16, ms: 8_000, streams: { streams: 64, chunks: 100, interval: 5 } };

/** `targets`: the upstream itself first. */
export async function measureForwarding(
  targets: readonly Target[],
  samples: Samples,
  effort: Effort,
  say: (line: string) => void,
): Promise<void> {
  const [upstream] = targets;
  if (upstream === undefined) return;
  const field: Field = { targets, samples, expected: await expectedFrom(upstream, shapes(), samples) };
  for (const target of targets) {
    await hammer(field, target, WARM.connections, WARM.ms);
    await streams({ ...field, samples: newSamples() }, target, WARM.streams);
  }
  for (let round = 0; round < effort.rounds; round += 1) {
    say(`… forwarding: round ${round + 1} of ${effort.rounds}`);
    await oneRound(field, round, effort.blockMs);
  }
}

async function oneRound(field: Field, round: number, blockMs: number): Promise<void> {
  const { targets } = field;
  const turned = [...targets.slice(round % targets.length), ...targets.slice(0, round % targets.length)];
  await sequential(field, SMALL_ONE);
  await sequential(field, FIRST);
  for (const connections of CONNECTIONS) {
    for (const target of turned) await throughput(field, target, connections, blockMs);
  }
  for (const target of turned) await streams(field, target, STREAMS);
  await sequential(field, LARGE);
}

function shapes(): Asked[] {
  return Array.from({ length: SEEDS }, (_, seed) => [
    { stream: false, chunks: SMALL, seed },
    { stream: true, chunks: FIRST.chunks, seed },
    { stream: true, chunks: STREAMS.chunks, seed },
    { stream: true, chunks: WARM.streams.chunks, seed },
  ]).flat();
}
