/** What the bytes of a written stream say of it; they are whole events, as the forwarder writes them. */
import type { Protocol } from '../forward/protocols.ts';
import { eventData, eventEnd } from '../forward/sse.ts';
import type { Head } from './table.ts';

/** True for server-sent events. */
export function isStream({ headers }: Head): boolean {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
  return at >= 0 && headers[at + 1]?.startsWith('text/event-stream') === true;
}

/** An event with data is among them: not only comments, nor an error. */
export function hasContent(bytes: Buffer, { judge }: Protocol): boolean {
  return someEvent(
    bytes,
    (start, end) =>
      judge?.(bytes, start, end) !== 'error' && eventData(bytes.toString('utf8', start, end)) !== null,
  );
}

/** The protocol's end mark is among them: the stream is complete. */
export function hasEndMark(bytes: Buffer, { judge }: Protocol): boolean {
  return judge !== null && someEvent(bytes, (start, end) => judge(bytes, start, end) === 'end');
}

function someEvent(bytes: Buffer, holds: (start: number, end: number) => boolean): boolean {
  for (let start = 0; start < bytes.length; ) {
    const end = eventEnd(bytes, start);
    if (holds(start, end)) return true;
    start = end;
  }
  return false;
}
