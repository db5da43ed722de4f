/**
 * A cursor over a file: positioned reads of large chunks, little-endian numbers, bounded by the file's size.
 */
import type { FileHandle } from 'node:fs/promises';

const CHUNK = 1024 * 1024;
/** No known header is longer than 30 MB; a damaged count must not read a whole disk. */
const LONGEST = 128 * 1024 * 1024;
const TWO_32 = 2 ** 32;

/** More was asked for than the file has. */
export class EndOfFile extends Error {
  readonly size: number;
  readonly wanted: number;
  constructor(size: number, wanted: number) {
    super(`the file has ${size} bytes, ${wanted} are needed`);
    this.size = size;
    this.wanted = wanted;
  }
}

/** The header goes on past any sensible length. */
export class TooLong extends Error {}

export interface ByteSource {
  /** Makes the next `count` bytes readable; rejects with EndOfFile where the file is shorter, or TooLong. */
  need(count: number): Promise<void>;
  position(): number;
  seek(position: number): void;
  /** Passes over bytes without reading them; throws EndOfFile past the end. */
  skip(count: number): void;
  /** Passes over `count` texts, each with its length before it. */
  skipTexts(count: number): Promise<void>;
  u32(): number;
  /** A value over 2^53 comes as a nearby float, which every bound refuses. */
  u64(): number;
  /** A number of a GGUF value type. */
  number(type: number): number;
  /** The next bytes, as a view that is valid until the next call. */
  bytes(count: number): Buffer;
}

/** A cursor at the start of the file. `size`: its bytes. */
export function byteSource(handle: FileHandle, size: number): ByteSource {
  let buffer = Buffer.alloc(CHUNK);
  let start = 0;
  let filled = 0;
  let at = 0;

  const left = () => start + filled - at;

  async function need(count: number): Promise<void> {
    if (at >= start && left() >= count) return;
    if (at + count > size) throw new EndOfFile(size, at + count);
    if (at + count > LONGEST) throw new TooLong(`the header is longer than ${LONGEST} bytes`);
    if (buffer.length < count) buffer = Buffer.alloc(count);
    start = at;
    filled = 0;
    while (filled < count) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, start + filled);
      if (bytesRead === 0) throw new EndOfFile(start + filled, at + count);
      filled += bytesRead;
    }
  }

  function take(count: number): number {
    const offset = at - start;
    if (at < start || offset + count > filled) throw new Error('bytes were read before they were asked for');
    at += count;
    return offset;
  }

  function skip(count: number): void {
    if (at + count > size) throw new EndOfFile(size, at + count);
    at += count;
  }

  function u64(): number {
    const offset = take(8);
    return buffer.readUInt32LE(offset) + buffer.readUInt32LE(offset + 4) * TWO_32;
  }

  return {
    need,
    skip,
    u64,
    position: () => at,
    seek: (position) => {
      at = position;
    },
    async skipTexts(count) {
      for (let i = 0; i < count; i += 1) {
        if (at < start || left() < 8) await need(8);
        skip(u64());
      }
    },
    u32: () => buffer.readUInt32LE(take(4)),
    number: (type) => numberReaders[type]?.(buffer, take) ?? Number.NaN,
    bytes: (count) => {
      const offset = take(count);
      return buffer.subarray(offset, offset + count);
    },
  };
}

type Take = (count: number) => number;

const numberReaders: Readonly<Record<number, (buffer: Buffer, take: Take) => number>> = {
  0: (buffer, take) => buffer.readUInt8(take(1)),
  1: (buffer, take) => buffer.readInt8(take(1)),
  2: (buffer, take) => buffer.readUInt16LE(take(2)),
  3: (buffer, take) => buffer.readInt16LE(take(2)),
  4: (buffer, take) => buffer.readUInt32LE(take(4)),
  5: (buffer, take) => buffer.readInt32LE(take(4)),
  6: (buffer, take) => buffer.readFloatLE(take(4)),
  7: (buffer, take) => buffer.readUInt8(take(1)),
  10: (buffer, take) => Number(buffer.readBigUInt64LE(take(8))),
  11: (buffer, take) => Number(buffer.readBigInt64LE(take(8))),
  12: (buffer, take) => buffer.readDoubleLE(take(8)),
};
