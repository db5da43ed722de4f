/** Watches a file or a folder for changes; several in a moment count as one. */
import { type FSWatcher, type Stats, statSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Clock } from '../ports.ts';

/** Editors and copies make many changes in a row; the last one counts. */
const SETTLE_MS = 300;

/** How often it is looked whether the path is still the one that is watched. */
const LOOK_MS = 30_000;

/**
 * Calls back after a change of `path`. A file is watched through its folder, since editors replace it. What is not
 * there, or is replaced as a whole (a disk that is mounted), is found within half a minute and watched from then on.
 */
export function watchPath(
  path: string,
  kind: 'file' | 'folder',
  clock: Clock,
  changed: () => void,
): () => void {
  const folder = kind === 'file' ? dirname(path) : path;
  let cancel = (): void => {};
  let watcher: FSWatcher | null = null;
  let watched: string | null = null;
  let ended = false;

  const soon = (): void => {
    cancel();
    cancel = clock.at(clock.now().mono + SETTLE_MS, changed);
  };
  const begin = (): void => {
    try {
      watcher = watch(folder, { recursive: kind === 'folder' }, (_, file) => {
        if (kind === 'folder' || file === null || file === basename(path)) soon();
      });
      watcher.on('error', () => {
        watched = null;
        soon();
      });
    } catch {
      // No more watches are to be had, say: then it is looked at each time.
      watched = null;
    }
  };
  const look = async (): Promise<void> => {
    const found = await stat(folder).then(identity, () => null);
    if (ended || found === watched) return;
    watcher?.close();
    watcher = null;
    watched = found;
    if (found !== null) begin();
    soon();
  };

  try {
    watched = identity(statSync(folder));
    begin();
  } catch {
    watched = null;
  }
  const stopLooking = every(clock, LOOK_MS, look);
  return () => {
    ended = true;
    stopLooking();
    cancel();
    watcher?.close();
  };
}

function identity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** Calls `work` every `ms` for as long as the process runs; a run that takes long is not overtaken. */
export function every(clock: Clock, ms: number, work: () => Promise<void>): () => void {
  let cancel = (): void => {};
  let ended = false;
  const next = (): void => {
    cancel = clock.at(clock.now().mono + ms, () => {
      void work().finally(() => {
        if (!ended) next();
      });
    });
  };
  next();
  return () => {
    ended = true;
    cancel();
  };
}
