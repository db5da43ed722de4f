/**
 * The bytes of one answer, copied into pages of our own: a slice that is kept would keep the whole buffer that
 * it was cut from. What is written at once lies in one page, so a reader never stops inside of it.
 */
const FIRST_PAGE = 1024;
const LARGEST_PAGE = 64 * 1024;

export interface Pages {
  /** Bytes written. */
  length(): number;
  /** Bytes of memory that the pages take; at least `length`. */
  taken(): number;
  /** Bytes of memory that writing `length` more bytes would add. */
  cost(length: number): number;
  write(bytes: Buffer): void;
  /** From `at` to the end of its page; null at the end. */
  from(at: number): Buffer | null;
  /** Nothing more is written: gives back what is left of the last page. */
  trim(): void;
  clear(): void;
}

interface Page {
  readonly start: number;
  readonly bytes: Buffer;
}

/** Starts empty. */
export function newPages(): Pages {
  let pages: Page[] = [];
  let length = 0;
  let taken = 0;

  /** Unused bytes of the last page. */
  const left = () => {
    const last = pages.at(-1);
    return last === undefined ? 0 : last.start + last.bytes.length - length;
  };

  function cost(more: number): number {
    if (more <= left()) return 0;
    const twice = 2 * (pages.at(-1)?.bytes.length ?? FIRST_PAGE / 2);
    return Math.max(more, Math.min(twice, LARGEST_PAGE));
  }

  return {
    length: () => length,
    taken: () => taken,
    cost,
    write(bytes) {
      const size = cost(bytes.length);
      if (size > 0) pages.push({ start: length, bytes: Buffer.allocUnsafeSlow(size) });
      taken += size;
      const last = pages.at(-1);
      if (last !== undefined) bytes.copy(last.bytes, length - last.start);
      length += bytes.length;
    },
    from(at) {
      const index = pages.findLastIndex((page) => page.start <= at);
      const page = pages[index];
      if (page === undefined || at >= length) return null;
      return page.bytes.subarray(at - page.start, (pages[index + 1]?.start ?? length) - page.start);
    },
    trim() {
      const last = pages.at(-1);
      const unused = left();
      if (last === undefined || unused === 0) return;
      const exact = Buffer.allocUnsafeSlow(last.bytes.length - unused);
      last.bytes.copy(exact);
      pages[pages.length - 1] = { start: last.start, bytes: exact };
      taken -= unused;
    },
    clear() {
      pages = [];
      length = 0;
      taken = 0;
    },
  };
}
