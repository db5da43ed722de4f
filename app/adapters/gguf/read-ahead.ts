/**
 * Reads a model's files so that they are in the page cache: a load from there is one of the memory, not of the
 * disk. The kernel may drop such pages at any time, so they are no memory that is missing elsewhere.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { ReadAhead } from '../../ports/read-ahead.ts';
import { shardNames } from './model-header.ts';

/** Bytes of one read: large enough for a disk's pace, small enough to go unnoticed. */
const CHUNK = 1024 * 1024;

/** One file after the other; a second call waits for the first. Rejects with AppError `model_unreadable`. */
export function readAhead({ modelsFolder }: { readonly modelsFolder: string }): ReadAhead {
  let last: Promise<unknown> = Promise.resolve();
  return {
    read({ file, projector }) {
      const names = [...shardNames(file), ...(projector === null ? [] : [projector])];
      const reading = last.then(() => readAll(names.map((name) => join(modelsFolder, name))));
      last = reading.catch(() => {});
      return reading;
    },
  };
}

async function readAll(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    try {
      for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
        bytes += (chunk as Buffer).length;
      }
    } catch (thrown) {
      const cause = AppError.from(thrown);
      throw new AppError('model_unreadable', `${path} could not be read: ${cause.message}`, { cause });
    }
  }
  return bytes;
}
