/**
 * Docker's event stream as events: one JSON object a line, cut anywhere.
 */
import type { Readable } from 'node:stream';
import { DockerEvent } from './schemas.ts';

/** Engine time of an event in milliseconds. */
export function eventTime(event: DockerEvent): number {
  return event.timeNano === undefined ? (event.time ?? 0) * 1000 : event.timeNano / 1e6;
}

/** Resolves when the stream ends, for whatever reason. What can't be read is left out. */
export function readEvents(stream: Readable, onEvent: (event: DockerEvent) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let pending = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      const event = parsed(line);
      if (event !== undefined) onEvent(event);
    }
  });
  stream.on('error', () => resolve());
  stream.on('end', () => resolve());
  stream.on('close', () => resolve());
  return promise;
}

function parsed(line: string): DockerEvent | undefined {
  if (line.trim() === '') return undefined;
  try {
    return DockerEvent.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** The stream is opened again from a little before its last event: a number of nanoseconds is not exact here. */
const OVERLAP = 5;
const REMEMBERED = 256;

/** Remembers where the stream was, and which events came twice because of the overlap. */
export interface EventCursor {
  /** Whether it is new. */
  take(event: DockerEvent): boolean;
  /** Unix seconds; undefined before the first event. */
  since(): number | undefined;
}

export function eventCursor(): EventCursor {
  let last: number | undefined;
  const seen = new Set<string>();
  return {
    take(event) {
      const at = eventTime(event);
      const key = `${at} ${event.Action} ${event.Actor.ID}`;
      if (seen.has(key)) return false;
      seen.add(key);
      for (const old of seen) {
        if (seen.size <= REMEMBERED) break;
        seen.delete(old);
      }
      last = Math.max(last ?? at, at);
      return true;
    },
    since: () => (last === undefined ? undefined : Math.floor(last - OVERLAP) / 1000),
  };
}
