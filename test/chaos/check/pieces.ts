/** A stream's text by the placements that sent it. */
import type { Transcript } from '../transcript.ts';
import { readEvents, type StreamEvent, textOf } from './stream.ts';

export interface Piece {
  /** Null: nothing tells it. */
  readonly placement: string | null;
  /** Never empty. */
  readonly text: string;
}

const SEAM = 'llamastead attempt=';

/**
 * Only what the stream itself tells names a placement: a look at the controller's state may come after a move that
 * the client has not heard of.
 * @returns `done`: the stream ended well
 */
export function piecesOf({ raw, answerHeaders }: Transcript): {
  readonly pieces: readonly Piece[];
  readonly done: boolean;
} {
  const { events } = readEvents(raw);
  const parts: { placement: string | null; events: StreamEvent[] }[] = [
    { placement: answerHeaders['llamastead-placement'] ?? null, events: [] },
  ];
  for (const event of events) {
    const seam = event.comments.find((text) => text.startsWith(SEAM));
    if (seam !== undefined) parts.push({ placement: /placement=(\w+)/.exec(seam)?.[1] ?? null, events: [] });
    parts.at(-1)?.events.push(event);
  }
  const pieces = parts.map((part) => ({ placement: part.placement, text: textOf(part.events) }));
  return {
    pieces: pieces.filter(({ text }) => text !== ''),
    done: events.some(({ data }) => data === '[DONE]'),
  };
}
