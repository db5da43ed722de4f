/** Watches a file or a folder for changes; several in a moment count as one. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../ports.ts';

/** Editors and copies make many changes in a row; the last one counts. */
const SETTLE_MS = 300;

/**
 * Calls back after a change of `path`. A file is watched through its folder, since editors replace it. A path
 * that is not there is not watched: the returned function ends whatever was begun.
 */
export function watchPath(
  path: string,
  kind: 'file' | 'folder',
  clock: Clock,
  changed: () => void,
): () => void {
  let cancel = (): void => {};
  let watcher: FSWatcher | null = null;
  const soon = (): void => {
    cancel();
    cancel = clock.at(clock.now().mono + SETTLE_MS, changed);
  };
  try {
    const name = basename(path);
    watcher = watch(kind === 'file' ? dirname(path) : path, { recursive: kind === 'folder' }, (_, file) => {
      if (kind === 'folder' || file === null || file === name) soon();
    });
    watcher.on('error', soon);
  } catch {
    watcher = null;
  }
  return () => {
    cancel();
    watcher?.close();
  };
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
