/** How often a request was sent to an instance, as its client was told. */
import type { Transcript } from '../transcript.ts';
import { readEvents } from './stream.ts';

/** Attempts that a request may take: two, and a third only for one that is run alone. */
export const MOST_ATTEMPTS = 3;

/** The highest number of an attempt that head and comments tell; 0: none. */
export function attemptsTold({ answerHeaders, raw }: Transcript): number {
  const { events } = readEvents(raw);
  const comments = events.flatMap((event) => event.comments);
  return Math.max(
    Number(answerHeaders['llamastead-attempts'] ?? 0),
    ...comments.map((text) => Number(/attempt=(\d+)/.exec(text)?.[1] ?? 0)),
  );
}

/** The placement that head and comments told last; null: none. */
export function placementTold({ answerHeaders, raw }: Transcript): string | null {
  const { events } = readEvents(raw);
  const told = events.flatMap((event) => event.comments).map((text) => /placement=(\w+)/.exec(text)?.[1]);
  return told.findLast((one) => one !== undefined) ?? answerHeaders['llamastead-placement'] ?? null;
}

/**
 * At most so many. A client that did not hear the end may not have been told of the last ones, and one whose head came
 * while it waited is not told of the first.
 */
export function mostAttempts(transcript: Transcript): number {
  if (transcript.headers['llamastead-replay'] === 'never') return 1;
  if (transcript.end.kind !== 'whole') return MOST_ATTEMPTS;
  return Math.max(attemptsTold(transcript), hadEarlyHead(transcript) ? 1 : 0);
}

function hadEarlyHead({ status, answerHeaders }: Transcript): boolean {
  return status === 200 && answerHeaders['llamastead-placement'] === undefined;
}
