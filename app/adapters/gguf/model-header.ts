/**
 * The header of a whole model: all its shards together.
 */
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

/** The names of all parts, the first of which is given. */
export function shardNames(file: string): readonly string[] {
  const shard = shardOf(file);
  if (shard === undefined || shard.count > MOST_SHARDS) return [file];
  const number = (n: number) => String(n).padStart(5, '0');
  return Array.from({ length: shard.count }, (_, i) =>
    file.replace(SHARD, (whole) => whole.replace(/\d{5}/, number(i + 1))),
  );
}

export interface ModelHeader {
  readonly gguf: Gguf;
  /** Newest modification of its files, Unix ms. */
  readonly mtime: number;
}

/**
 * Reads all shards of `file` (relative to the folder; the first shard of a split model). Rejects with AppError
 * `model_unreadable` whose details hold the Problem.
 */
export async function readModel(modelsFolder: string, file: string): Promise<ModelHeader> {
  const names = shardNames(file);
  const headers: GgufHeader[] = [];
  for (const name of names) {
    headers.push(await readPart(modelsFolder, name, file, names.length));
  }
  const [first] = headers;
  if (first === undefined) throw new AppError('internal', `no header was read of ${file}`);
  return {
    gguf: {
      metadata: first.metadata,
      tensors: headers.flatMap(({ tensors }) => tensors),
      size: headers.reduce((total, { size }) => total + size, 0),
    },
    mtime: Math.max(...headers.map(({ mtime }) => mtime)),
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
