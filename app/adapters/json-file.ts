/** One JSON document that is replaced as a whole: temporary file, sync, rename, sync of the folder. */
import { copyFile, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError, systemCode } from '../errors.ts';
import type { JsonFile } from '../ports.ts';

/** `path` is readable by us alone: it may hold secrets. One writer at a time. */
export function jsonFile(path: string): JsonFile {
  const temporary = `${path}.tmp`;
  const aside = `${path}.broken`;
  return {
    read: async () => {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (thrown) {
        const missing = ['ENOENT', 'ENOTDIR'].includes(systemCode(thrown) ?? '');
        return missing ? { found: 'nothing' } : { found: 'unreadable', cause: AppError.from(thrown).message };
      }
      try {
        return { found: 'data', data: JSON.parse(text) };
      } catch {
        await rename(path, aside).catch(() => undefined);
        return { found: 'broken', aside };
      }
    },
    write: async (data) => {
      try {
        await mkdir(dirname(path), { recursive: true });
        const file = await open(temporary, 'w', 0o600);
        try {
          await file.writeFile(`${JSON.stringify(data, null, 2)}\n`);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, path);
        await syncFolder(dirname(path));
      } catch (thrown) {
        throw new AppError(
          'state_unwritable',
          `${path} cannot be written: ${AppError.from(thrown).message}`,
          {
            cause: thrown,
          },
        );
      }
    },
    keepAside: async () => {
      await copyFile(path, aside).catch(() => undefined);
      return aside;
    },
  };
}

/** So that the new name survives a power cut. Some file systems cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync().catch(() => undefined);
  } finally {
    await handle.close();
  }
}
