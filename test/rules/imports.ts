/** What the project's files import. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

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

/** Files that are in version control or about to be, below a folder, whose name matches. */
export function filesIn(folder: string, name: RegExp): SourceFile[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--', folder];
  const paths = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  return [...new Set(paths)]
    .filter((path) => name.test(path))
    .flatMap((path) => {
      const text = readIfThere(`${root}${path}`);
      return text === null ? [] : [{ path, text }];
    });
}

/** Null: deleted, but still known to version control. */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
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
