/** The clients that read one answer while it is made. */
import type { Reader } from './reader.ts';

export interface Audience {
  add(reader: Reader): void;
  remove(reader: Reader): void;
  empty(): boolean;
  each(act: (reader: Reader) => void): void;
  /** Bytes that the one has who is furthest; 0 without one. */
  furthest(): number;
  /** One of them takes more. */
  ready(): boolean;
  /** Cuts the others; `last`: their last event, null where what they have must not look whole. */
  keepOnly(stays: (reader: Reader) => boolean, last: string | null): void;
}

/** Starts empty. */
export function newAudience(): Audience {
  let readers: Reader[] = [];
  return {
    add: (reader) => void readers.push(reader),
    remove(reader) {
      readers = readers.filter((each) => each !== reader);
    },
    empty: () => readers.length === 0,
    each(act) {
      for (const reader of readers) act(reader);
    },
    furthest: () => Math.max(0, ...readers.map((reader) => reader.at())),
    ready: () => readers.some((reader) => reader.ready()),
    keepOnly(stays, last) {
      const cut = readers.filter((reader) => !stays(reader));
      readers = readers.filter(stays);
      for (const reader of cut) reader.cut(last);
    },
  };
}
