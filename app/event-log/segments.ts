/** Segment files of the event log: append, rotate, remove what is old, read back. */
import { type FileHandle, mkdir, open, readdir, readFile, stat, truncate, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Fact } from '../core/facts.ts';
import { systemCode } from '../errors.ts';
import { decode, encode } from './record.ts';
import type { EventLogLimits } from './types.ts';

const DAY = 86_400_000;

interface Segment {
  /** Number of its first fact; also its file name. */
  readonly first: number;
  bytes: number;
  /** When it was last written, Unix ms. */
  written: number;
}

export interface Segments {
  /** Writes and syncs; rejects where the disk does not take it, and is then as if it had not been called. */
  append(facts: readonly Fact[], wall: number): Promise<void>;
  /** Facts with a number over `since`, up to `limit`. */
  read(since: number, limit: number): Promise<Fact[]>;
  /** Number of the oldest fact on the disk; null: there is none. */
  oldest(): number | null;
  close(): Promise<void>;
}

/** Opens the folder and reads it: gives the newest facts, up to `limits.ring`. Rejects where it cannot be read. */
export async function openSegments(
  folder: string,
  limits: EventLogLimits,
  notice: (text: string) => void,
): Promise<{ readonly segments: Segments; readonly newest: readonly Fact[] }> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const list = await listSegments(folder);
  let newest: Fact[] = [];
  for (const segment of list.toReversed()) {
    const content = await readFile(pathOf(folder, segment));
    const { facts, goodBytes, badLines } = decode(content);
    if (badLines > 0) notice(`${badLines} damaged events in ${pathOf(folder, segment)} are left out`);
    if (segment === list.at(-1) && goodBytes < content.length) {
      notice(`${content.length - goodBytes} bytes of an event that was not written whole are dropped`);
      await truncate(pathOf(folder, segment), goodBytes);
      segment.bytes = goodBytes;
    }
    newest = [...facts, ...newest];
    if (newest.length >= limits.ring) break;
  }
  return { segments: segmentsIn(folder, list, limits), newest: newest.slice(-limits.ring) };
}

async function listSegments(folder: string): Promise<Segment[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{16}\.events$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return { first: Number.parseInt(name, 10), bytes: size, written: mtimeMs };
    }),
  );
}

function pathOf(folder: string, segment: Segment): string {
  return join(folder, `${String(segment.first).padStart(16, '0')}.events`);
}

function segmentsIn(folder: string, list: Segment[], limits: EventLogLimits): Segments {
  let handle: FileHandle | null = null;
  /** A write failed: what is after the good bytes must go before the next. */
  let torn = false;

  const closeHandle = async () => {
    const old = handle;
    handle = null;
    await old?.close();
  };
  const current = async (first: number): Promise<{ file: FileHandle; segment: Segment }> => {
    const last = list.at(-1);
    if (last !== undefined && last.bytes < limits.segmentBytes) {
      handle ??= await open(pathOf(folder, last), 'r+');
      return { file: handle, segment: last };
    }
    await closeHandle();
    const segment: Segment = { first, bytes: 0, written: 0 };
    const file = await open(pathOf(folder, segment), 'w', 0o600);
    handle = file;
    list.push(segment);
    await syncFolder(folder);
    return { file, segment };
  };
  return {
    append: async (facts, wall) => {
      const first = facts[0]?.seq;
      if (first === undefined) return;
      try {
        const { file, segment } = await current(first);
        if (torn) await file.truncate(segment.bytes);
        const content = Buffer.from(facts.map(encode).join(''));
        await writeAll(file, content, segment.bytes);
        await file.datasync();
        torn = false;
        segment.bytes += content.length;
        segment.written = wall;
      } catch (thrown) {
        torn = true;
        await closeHandle().catch(() => undefined);
        if (list.at(-1)?.bytes === 0) list.pop();
        throw thrown;
      }
      await removeOld(folder, list, limits, wall);
    },
    read: (since, limit) => readFrom(folder, list, since, limit),
    oldest: () => list[0]?.first ?? null,
    close: closeHandle,
  };
}

async function writeAll(file: FileHandle, content: Buffer, at: number): Promise<void> {
  for (let done = 0; done < content.length; ) {
    const { bytesWritten } = await file.write(content, done, content.length - done, at + done);
    done += bytesWritten;
  }
}

/** So that a new file's name survives a power cut. Some file systems cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync().catch(() => undefined);
  } finally {
    await handle.close();
  }
}

/** Removes whole segments, oldest first, never the one that is being written. */
async function removeOld(
  folder: string,
  list: Segment[],
  limits: EventLogLimits,
  wall: number,
): Promise<void> {
  const tooOld = (segment: Segment) => wall - segment.written > limits.days * DAY;
  for (;;) {
    const [oldest] = list;
    const total = list.reduce((sum, segment) => sum + segment.bytes, 0);
    if (oldest === undefined || list.length < 2 || (total <= limits.bytes && !tooOld(oldest))) return;
    try {
      await unlink(pathOf(folder, oldest));
    } catch (thrown) {
      if (systemCode(thrown) !== 'ENOENT') return;
    }
    list.shift();
  }
}

async function readFrom(
  folder: string,
  list: readonly Segment[],
  since: number,
  limit: number,
): Promise<Fact[]> {
  const wanted = list.filter((_, index) => (list[index + 1]?.first ?? Number.POSITIVE_INFINITY) > since + 1);
  const found: Fact[] = [];
  for (const segment of wanted) {
    const { facts } = decode(await readFile(pathOf(folder, segment)));
    found.push(...facts.filter(({ seq }) => seq > since));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}
