/**
 * Lists the GGUF files below a folder. Links are followed only inside the folder, each folder once.
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../core/types.ts';
import { systemCode } from '../../errors.ts';
import { isInside } from './locate.ts';
import { problems } from './problems.ts';

const DEEPEST = 12;
const MOST_ENTRIES = 100_000;

export interface Found {
  /** Relative to the folder, with `/`, in order. */
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
}

function isBelow(root: string, path: string): boolean {
  return path === root || isInside(root, path);
}

/** Rejects with a system error only where the folder itself cannot be read. */
export async function listModels(folder: string): Promise<Found> {
  const root = await realpath(folder);
  const found: { files: string[]; problems: Problem[] } = { files: [], problems: [] };
  const seen = new Set<string>();
  let entries = 0;

  async function visit(directory: string, way: string, depth: number): Promise<void> {
    const real = await realpath(directory);
    if (seen.has(real) || depth > DEEPEST) return;
    seen.add(real);
    const list = await readdir(directory, { withFileTypes: true });
    for (const entry of list.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      entries += 1;
      if (entries > MOST_ENTRIES) return;
      const name = way === '' ? entry.name : `${way}/${entry.name}`;
      await visitEntry(join(directory, entry.name), name, entry.isSymbolicLink(), depth);
    }
  }

  async function visitEntry(path: string, name: string, isLink: boolean, depth: number): Promise<void> {
    const isModel = /\.gguf$/i.test(name);
    try {
      const info = await stat(path);
      if (isLink && !isBelow(root, await realpath(path))) {
        if (isModel || info.isDirectory()) found.problems.push(problems.outside(name));
        return;
      }
      if (info.isDirectory()) await visit(path, name, depth + 1);
      else if (info.isFile() && isModel) found.files.push(name);
    } catch (error) {
      const code = systemCode(error);
      if (code === undefined) throw error;
      if (isLink && (code === 'ENOENT' || code === 'ELOOP')) {
        if (isModel) found.problems.push(problems.danglingLink(name));
      } else if (code !== 'ENOENT') found.problems.push(problems.notReadable(name, code));
    }
  }

  // The folder itself is the caller's to report; below it, one unreadable folder must not hide the rest.
  await readdir(folder);
  await visit(folder, '', 0);
  return found;
}
