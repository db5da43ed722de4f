import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchDir } from '../lib/paths.ts';

/** A folder for a build that copies nothing. */
export function emptyContext(): string {
  const folder = join(benchDir, 'empty');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Runs work with a new folder and removes the folder after it. */
export async function withContext<T>(work: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(benchDir, { recursive: true });
  const folder = mkdtempSync(join(benchDir, 'context-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
