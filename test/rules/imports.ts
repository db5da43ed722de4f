/** What the project's files import. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filesUnder } from '../home/lib/content-hash.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface SourceFile {
  /** From the root, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly from: string;
  /** A file of ours from the root, else a package's name or `node:...`. */
  readonly target: string;
  readonly isOurs: boolean;
  /** Types only: gone when it runs. */
  readonly typeOnly: boolean;
}

/** Made by tools, and whatever they installed. */
const NOT_OURS = /(^|\/)(node_modules|dist|coverage|\.git|\.home|\.bench|\.mutation)\/$/;

/** Files below a folder whose path from the root matches. */
export function filesIn(folder: string, name: RegExp): SourceFile[] {
  return filesUnder(join(root, folder), (path) => !NOT_OURS.test(path))
    .map((path) => posix.join(folder, path))
    .filter((path) => name.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

const STATEMENT = /^\s*(?:import|export)\s+(type\s)?(?:[\w\s{},*$]+?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

export function importsOf({ path, text }: SourceFile): Import[] {
  const fixed = [...text.matchAll(STATEMENT)].map(([, type, target = '']) => ({
    target,
    typeOnly: type !== undefined,
  }));
  const dynamic = [...text.matchAll(DYNAMIC)].map(([, target = '']) => ({ target, typeOnly: false }));
  return [...fixed, ...dynamic].map(({ target, typeOnly }) => ({
    from: path,
    isOurs: target.startsWith('.'),
    target: target.startsWith('.') ? posix.join(posix.dirname(path), target) : target,
    typeOnly,
  }));
}

/** `@scope/name/part` -> `@scope/name`. */
export function packageOf(target: string): string {
  const parts = target.split('/');
  return parts.slice(0, target.startsWith('@') ? 2 : 1).join('/');
}
