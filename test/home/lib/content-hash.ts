import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A short hash of what a step is made from. Parts are length-prefixed, so ['ab', 'c'] and ['a', 'bc'] differ.
 * @returns 12 hex digits: fit for an image's tag
 */
export function contentHash(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex').slice(0, 12);
}

/**
 * Files under a folder as sorted paths relative to it; `keep` sees each relative path, a folder's with a
 * slash at its end.
 */
export function filesUnder(folder: string, keep: (path: string) => boolean = () => true): string[] {
  const walk = (relative: string): string[] =>
    readdirSync(join(folder, relative), { withFileTypes: true }).flatMap((entry) => {
      const path = relative + entry.name;
      if (entry.isDirectory()) return keep(`${path}/`) ? walk(`${path}/`) : [];
      return keep(path) ? [path] : [];
    });
  return walk('').sort();
}

/** Names and contents of files, as parts for contentHash. */
export function fileParts(folder: string, paths: readonly string[]): (string | Uint8Array)[] {
  return paths.flatMap((path) => [path, readFileSync(join(folder, path))]);
}
