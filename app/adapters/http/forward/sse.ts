/**
 * Server-sent events by whole events: an event ends at an empty line (`\n\n` or `\r\n\r\n`). Works on bytes,
 * so characters split over TCP segments need no care.
 */
const LF = 10;
const CR = 13;

export interface EventSplitter {
  /** Takes bytes; returns all events that are now whole (one buffer, no copy where possible), or null. */
  push(chunk: Buffer): Buffer | null;
  /** Bytes of an event that is not whole yet. */
  pending(): number;
}

/** Splits one stream; holds only the bytes of the event that is not whole. */
export function eventSplitter(): EventSplitter {
  let held: Buffer[] = [];
  let pending = 0;
  return {
    pending: () => pending,
    push(chunk) {
      const end = lastEventEnd(held, chunk);
      if (end === 0) {
        held.push(chunk);
        pending += chunk.length;
        return null;
      }
      const whole = end === chunk.length ? chunk : chunk.subarray(0, end);
      const result = pending === 0 ? whole : Buffer.concat([...held, whole], pending + end);
      held = end === chunk.length ? [] : [chunk.subarray(end)];
      pending = chunk.length - end;
      return result;
    },
  };
}

/** Offset in `chunk` just after the last empty line of `held` + `chunk`; 0: none ends in `chunk`. */
function lastEventEnd(held: readonly Buffer[], chunk: Buffer): number {
  let at = chunk.length - 1;
  while (at >= 0) {
    at = chunk.lastIndexOf(LF, at);
    if (at < 0) return 0;
    if (endsEmptyLine(held, chunk, at)) return at + 1;
    at -= 1;
  }
  return 0;
}

/** Whether the line that the LF at `at` ends is empty. */
function endsEmptyLine(held: readonly Buffer[], chunk: Buffer, at: number): boolean {
  let before = at - 1;
  if (byteAt(held, chunk, before) === CR) before -= 1;
  return byteAt(held, chunk, before) === LF;
}

/** The byte at an offset of `chunk`; negative offsets count back into what is held. */
function byteAt(held: readonly Buffer[], chunk: Buffer, offset: number): number | undefined {
  if (offset >= 0) return chunk[offset];
  let back = -offset;
  for (let i = held.length - 1; i >= 0; i -= 1) {
    const part = held[i];
    if (part === undefined) return undefined;
    if (back <= part.length) return part[part.length - back];
    back -= part.length;
  }
  return undefined;
}

/** Offset just after the event that starts at `start`, in a buffer of whole events. */
export function eventEnd(whole: Buffer, start: number): number {
  let at = whole.indexOf(LF, start);
  while (at >= 0) {
    const next = whole[at + 1];
    if (next === LF) return at + 2;
    if (next === CR && whole[at + 2] === LF) return at + 3;
    at = whole.indexOf(LF, at + 1);
  }
  return whole.length;
}

/** The value of an event's `data` field, its lines joined by LF; null: it has none (a comment). */
export function eventData(event: string): string | null {
  // The usual form: one line.
  if (event.startsWith('data: ') && event.indexOf('\n') === event.length - 2) return event.slice(6, -2);
  let data: string | null = null;
  for (const line of event.split('\n')) {
    if (!line.startsWith('data:')) continue;
    const value = line.slice(line[5] === ' ' ? 6 : 5, line.endsWith('\r') ? -1 : undefined);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
}
