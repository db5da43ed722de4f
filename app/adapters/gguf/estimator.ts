/**
 * The memory that a profile will take, from the headers of its files; read again only when they changed.
 */
import type { Gguf } from '../../core/gguf-types.ts';
import { needOf } from '../../core/need.ts';
import type { Need } from '../../core/types.ts';
import type { Estimator } from '../../ports.ts';
import { lastUsed } from './last-used.ts';
import { identity, readModel } from './model-header.ts';

const HEADERS_KEPT = 16;
const NEEDS_KEPT = 256;

/**
 * Needs are cached by files, sizes, times of change and the profile's hash. `need` rejects with AppError
 * `model_unreadable`; failures are not cached, so a mended file is seen at the next call.
 */
export function estimator({ modelsFolder }: { readonly modelsFolder: string }): Estimator {
  const headers = lastUsed<Promise<Gguf>>(HEADERS_KEPT);
  const needs = lastUsed<Need>(NEEDS_KEPT);

  async function header(file: string, key: string): Promise<Gguf> {
    const known = headers.get(key);
    if (known !== undefined) return known;
    const reading = readModel(modelsFolder, file);
    headers.set(key, reading);
    try {
      return await reading;
    } catch (error) {
      headers.delete(key);
      throw error;
    }
  }

  return {
    async need(profile) {
      const files = [profile.file, profile.projector].filter((file) => file !== null);
      const keys = await Promise.all(files.map((file) => identity(modelsFolder, file)));
      const key = JSON.stringify([keys, profile.hash]);
      const known = needs.get(key);
      if (known !== undefined) return known;
      const [gguf, projector] = await Promise.all(files.map((file, i) => header(file, keys[i] ?? file)));
      if (gguf === undefined) throw new Error('a profile has a file');
      const need = needOf({ gguf, projector: projector ?? null, profile });
      needs.set(key, need);
      return need;
    },
  };
}
