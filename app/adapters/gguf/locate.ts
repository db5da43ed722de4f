/**
 * From a name below the models folder to a path that may be opened: never out of the folder, by `..`, by an
 * absolute name or by a link.
 */
import { lstat, realpath } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { systemCode } from '../../errors.ts';
import { problems, unreadable } from './problems.ts';

/**
 * The path of `file` (relative to the folder). Rejects with AppError `model_unreadable`: outside the folder,
 * not there, or a link whose target is not there.
 */
export async function locate(modelsFolder: string, file: string): Promise<string> {
  const plain = normalize(file);
  if (isAbsolute(file) || file.includes('\0') || plain === '..' || plain.startsWith(`..${sep}`)) {
    throw unreadable(problems.outside(file));
  }
  const path = join(modelsFolder, plain);
  const [root, real] = await Promise.all([realpath(modelsFolder), realpath(path)]).catch(
    async (error: unknown) => {
      throw unreadable(await whyMissing(path, file, error), error);
    },
  );
  if (!isInside(root, real)) throw unreadable(problems.outside(file));
  return path;
}

/** True where `path` lies below `root`; both without links. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function whyMissing(path: string, file: string, error: unknown) {
  const code = systemCode(error);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') return problems.notReadable(file, code ?? String(error));
  const link = await lstat(path).catch(() => undefined);
  return link?.isSymbolicLink() ? problems.danglingLink(file) : problems.missing(file);
}
