/**
 * The header of a whole model: all its shards together.
 */
import { stat } from 'node:fs/promises';
import type { Gguf } from '../../core/gguf-types.ts';
import { AppError } from '../../errors.ts';
import { locate } from './locate.ts';
import { problemOf, problems, unreadable } from './problems.ts';
import { type GgufHeader, readGgufHeader } from './reader.ts';

const SHARD = /-(\d{5})-of-(\d{5})\.gguf$/i;
const MOST_SHARDS = 1000;

/** What the name of a split file says; undefined for a file that is whole. */
export function shardOf(file: string): { readonly index: number; readonly count: number } | undefined {
  const match = SHARD.exec(file);
  if (match === null) return undefined;
  return { index: Number(match[1]), count: Number(match[2]) };
}

/** The names of all parts of the model that `file` is a part of; a whole file is its only part. */
export function shardNames(file: string): readonly string[] {
  const shard = shardOf(file);
  if (shard === undefined || shard.count > MOST_SHARDS) return [file];
  return Array.from({ length: shard.count }, (_, i) => {
    const number = String(i + 1).padStart(5, '0');
    return file.replace(SHARD, (mark) => mark.replace(/\d{5}/, number));
  });
}

/**
 * Reads all shards of `file` (relative to the folder). Rejects with AppError `model_unreadable` whose details
 * hold the Problem.
 */
export async function readModel(modelsFolder: string, file: string): Promise<Gguf> {
  const names = shardNames(file);
  const headers: GgufHeader[] = [];
  for (const name of names) headers.push(await readPart(modelsFolder, name, file, names.length));
  const [first] = headers;
  if (first === undefined) throw new AppError('internal', `no header was read of ${file}`);
  return {
    metadata: first.metadata,
    tensors: headers.flatMap(({ tensors }) => tensors),
    size: headers.reduce((total, { size }) => total + size, 0),
  };
}

async function readPart(folder: string, name: string, first: string, count: number): Promise<GgufHeader> {
  try {
    return await readGgufHeader(await locate(folder, name), name);
  } catch (error) {
    if (count > 1 && problemOf(error)?.code === 'model_missing') {
      throw unreadable(problems.shardMissing(first, name, count), error);
    }
    throw error;
  }
}

/** Name, size and time of change of every shard: another text whenever one of them changed. */
export async function identity(modelsFolder: string, file: string): Promise<string> {
  const parts = await Promise.all(
    shardNames(file).map(async (name) => {
      const found = await locate(modelsFolder, name).then(
        (path) => stat(path),
        () => undefined,
      );
      return [name, found?.size ?? null, found?.mtimeMs ?? null];
    }),
  );
  return JSON.stringify(parts);
}
