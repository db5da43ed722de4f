/**
 * The memory that a profile will take, from the headers of its files; read again only when they changed.
 */
import { stat } from 'node:fs/promises';
import type { Gguf } from '../../core/gguf-types.ts';
import { needOf } from '../../core/need.ts';
import type { Need } from '../../core/types.ts';
import type { Estimator } from '../../ports.ts';
import { locate } from './locate.ts';
import { readModel, shardNames } from './model-header.ts';

const MOST_KEPT = 64;

/**
 * Needs are cached by files, sizes, times of change and the profile's hash. `need` rejects with AppError
 * `model_unreadable`; failures are not cached, so a mended file is seen at the next call.
 */
export function estimator({ modelsFolder }: { readonly modelsFolder: string }): Estimator {
  const headers = lastUsed<Promise<Gguf>>(MOST_KEPT);
  const needs = lastUsed<Need>(MOST_KEPT);

  async function header(file: string): Promise<{ readonly gguf: Gguf; readonly key: string }> {
    const key = await identity(modelsFolder, file);
    const known = headers.get(key);
    if (known !== undefined) return { gguf: await known, key };
    const reading = readModel(modelsFolder, file).then(({ gguf }) => gguf);
    headers.set(key, reading);
    try {
      return { gguf: await reading, key };
    } catch (error) {
      headers.delete(key);
      throw error;
    }
  }

  return {
    async need(profile) {
      const model = await header(profile.file);
      const projector = profile.projector === null ? null : await header(profile.projector);
      const key = JSON.stringify([model.key, projector?.key ?? null, profile.hash]);
      const known = needs.get(key);
      if (known !== undefined) return known;
      const need = needOf({ gguf: model.gguf, projector: projector?.gguf ?? null, profile });
      needs.set(key, need);
      return need;
    },
  };
}

/** Name, size and time of change of every shard: another identity whenever one of them changed. */
async function identity(modelsFolder: string, file: string): Promise<string> {
  const parts = await Promise.all(
    shardNames(file).map(async (name) => {
      const found = await stat(await locate(modelsFolder, name).catch(() => '')).catch(() => undefined);
      return [name, found?.size ?? null, found?.mtimeMs ?? null];
    }),
  );
  return JSON.stringify(parts);
}

interface LastUsed<T> {
  get(key: string): T | undefined;
  set(key: string, value: T): void;
  delete(key: string): void;
}

/** A map that forgets the entry that was longest unused. */
function lastUsed<T>(most: number): LastUsed<T> {
  const entries = new Map<string, T>();
  return {
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.set(key, value);
      const oldest = entries.keys().next().value;
      if (entries.size > most && oldest !== undefined) entries.delete(oldest);
    },
    delete: (key) => void entries.delete(key),
  };
}
