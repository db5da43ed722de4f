/** What the controller holds does not grow with what it has served. */
import type { Finding } from './finding.ts';

/** Resident, with twenty clients and long texts; at rest it holds half of it. */
const MOST_MIB = 256;
/** Between the second and the last quarter of one life: a heap settles in the first, and swings by half of this. */
const GROWTH_MIB = 48;
/** A shorter life is all beginning. */
const LIFE_SAMPLES = 120;
const MIB = 2 ** 20;
const NAME = { rule: "the controller's memory stays", request: '' };

/** What the process held at one second. */
export interface Sample {
  /** A killed controller is started anew, as another process. */
  readonly pid: number;
  /** Resident. */
  readonly bytes: number;
}

/** `samples`: from second to second. */
export function memoryStays(samples: readonly Sample[]): Finding[] {
  if (samples.length === 0) return [{ ...NAME, what: 'it was never seen' }];
  const most = Math.max(...samples.map(({ bytes }) => bytes)) / MIB;
  const held =
    most > MOST_MIB ? [{ ...NAME, what: `it held ${Math.round(most)} MiB, more than ${MOST_MIB}` }] : [];
  const lives = Map.groupBy(samples, ({ pid }) => pid);
  return [...held, ...[...lives].flatMap(([pid, life]) => growing(pid, life))];
}

function growing(pid: number, life: readonly Sample[]): Finding[] {
  if (life.length < LIFE_SAMPLES) return [];
  const quarter = Math.floor(life.length / 4);
  const grown = (median(life.slice(-quarter)) - median(life.slice(quarter, 2 * quarter))) / MIB;
  if (grown <= GROWTH_MIB) return [];
  const what = `process ${pid} grew by ${Math.round(grown)} MiB in ${life.length} s, more than ${GROWTH_MIB}`;
  return [{ ...NAME, what }];
}

function median(samples: readonly Sample[]): number {
  const sorted = samples.map(({ bytes }) => bytes).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
