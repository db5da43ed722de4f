/** Which containers the strikes hit, and when. */
import type { Strike } from './strike.ts';

/** Strikes that no container escapes. */
const ALL = new Set(['restart the engine', 'kill the holder']);

function hits({ fault, hit }: Strike, container: string): boolean {
  return ALL.has(fault) || hit?.split(', ')[0] === container;
}

/** The last strike on a container between two moments, in a word; null: there was none. */
export function lastStrike(
  strikes: readonly Strike[],
  container: string,
  after: number,
  before: number,
): string | null {
  const last = strikes.findLast((one) => one.to >= after && one.from <= before && hits(one, container));
  return last === undefined ? null : (last.hit?.split(', by ')[1] ?? last.fault);
}

/** Whether a container was hit before a moment (milliseconds, as in the transcripts): then it need not do what it should. */
export function hurtBefore(strikes: readonly Strike[]): (container: string, at: number) => boolean {
  return (container, at) => strikes.some((one) => one.from <= at && hits(one, container));
}
