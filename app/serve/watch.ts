/** Watches a file or a folder for changes; several in a moment count as one. */
import { existsSync, type FSWatcher, readFileSync, realpathSync, type Stats, statSync, watch } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Clock } from '../ports.ts';
import { mountsAt } from './mounts.ts';

/** Editors and copies make many changes in a row; the last one counts. */
const SETTLE_MS = 300;

/** How often it is looked whether the path is still the one that is watched: no event tells of a mount. */
const LOOK_MS = 10_000;
const MOUNTINFO = '/proc/self/mountinfo';

/**
 * Calls back after a change of `path`. A file is watched through its folder, since editors replace it. What is not
 * there, or is replaced as a whole (a disk that is mounted on it or below it), is found within ten seconds and watched
 * from then on.
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
    const found = await identity(folder);
    if (ended || found === watched) return;
    watcher?.close();
    watcher = null;
    watched = found;
    if (found !== null) begin();
    soon();
  };

  try {
    watched = identitySync(folder);
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

/** Null where it is not there. */
async function identity(folder: string): Promise<string | null> {
  try {
    const [stats, real] = await Promise.all([stat(folder), realpath(folder)]);
    return identityOf(stats, real, await readFile(MOUNTINFO, 'utf8').catch(() => ''));
  } catch {
    return null;
  }
}

/** As `identity`; throws where it is not there. */
function identitySync(folder: string): string {
  const [stats, real] = [statSync(folder), realpathSync(folder)];
  return identityOf(stats, real, existsSync(MOUNTINFO) ? readFileSync(MOUNTINFO, 'utf8') : '');
}

function identityOf({ dev, ino }: Stats, real: string, mountinfo: string): string {
  return [`${dev}:${ino}`, ...mountsAt(mountinfo, real)].join(' ');
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
