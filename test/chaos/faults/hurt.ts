/** Which containers the strikes hit, and when. */
import type { Strike } from './strike.ts';

/** Strikes that no container escapes. */
const ALL = new Set(['restart the engine', 'kill the holder']);

/** Whether a container was hit before a moment (milliseconds, as in the transcripts): then it need not do what it should. */
export function hurtBefore(strikes: readonly Strike[]): (container: string, at: number) => boolean {
  return (container, at) =>
    strikes.some(
      ({ fault, hit, from }) => from <= at && (ALL.has(fault) || hit?.split(', ')[0] === container),
    );
}
