/** How much of an answer a client had. */
import type { Transcript } from '../transcript.ts';
import { chunksOf, readEvents, type StreamEvent } from './stream.ts';

/** `text`: of a chat, and nothing else; `more`: anything after which nothing can go on. */
export type Sent = 'nothing' | 'text' | 'more';

export function sentOf({ path, raw }: Transcript): Sent {
  const { events } = readEvents(raw);
  if (path === '/v1/chat/completions') return ofChat(events);
  return events.some(isContent) ? 'more' : 'nothing';
}

function ofChat(events: readonly StreamEvent[]): Sent {
  const choices = chunksOf(events).flatMap((chunk) => chunk.choices ?? []);
  const beyond = choices.some(
    ({ finish_reason, delta }) =>
      finish_reason !== null ||
      Object.entries(delta).some(([key, value]) => key !== 'role' && key !== 'content' && value !== null),
  );
  if (beyond) return 'more';
  return choices.some(({ delta }) => (delta.content ?? '') !== '') ? 'text' : 'nothing';
}

/** Of the paths whose answers never go on. */
function isContent({ name, data }: StreamEvent): boolean {
  if (name.endsWith('.delta') || name === 'content_block_delta') return true;
  return name === '' && data.startsWith('{"choices"');
}
