/**
 * Every usable model below the models folder, and a problem for each file that is not.
 */
import type { Gguf } from '../../core/gguf-types.ts';
import { classify, type Kind, pairProjectors, projectorFits } from '../../core/model-kind.ts';
import { shapeOf } from '../../core/model-shape.ts';
import type { Problem } from '../../core/types.ts';
import { AppError, systemCode } from '../../errors.ts';
import type { ModelFile, ModelFiles } from '../../ports.ts';
import { readModel, shardNames, shardOf } from './model-header.ts';
import { problemOf, problems } from './problems.ts';
import { listModels } from './walk.ts';

/** The part of a logger that is used here; pino fits. */
export interface ScanLog {
  debug(details: Readonly<Record<string, unknown>>, text: string): void;
}

interface Read {
  readonly file: string;
  readonly gguf: Gguf;
  readonly kind: Kind;
}

/** Scans anew at each call; headers that did not change since are read again (0.1 s for the largest). */
export function modelFiles({
  modelsFolder,
  log,
}: {
  readonly modelsFolder: string;
  readonly log?: ScanLog;
}): ModelFiles {
  return {
    async scan() {
      const listed = await listModels(modelsFolder).catch((error: unknown) =>
        folderProblem(modelsFolder, error),
      );
      const found = [...listed.problems];
      const read: Read[] = [];
      for (const file of listed.files.filter((name) => isFirst(name, listed.files))) {
        try {
          const { gguf } = await readModel(modelsFolder, file);
          read.push({ file, gguf, kind: classify(file, gguf) });
        } catch (error) {
          const problem = problemOf(error);
          if (problem === undefined) throw AppError.from(error);
          found.push(problem);
        }
      }
      for (const { file, kind } of read) {
        if (kind.kind === 'other') log?.debug({ file, why: kind.why }, 'file is no model of its own');
      }
      const files = usable(read);
      if (files.length === 0 && found.length === 0) found.push(problems.folderEmpty(modelsFolder));
      return { files, problems: found };
    },
  };
}

/** Later shards belong to their first one; where that is missing, the lowest present part stands for it. */
function isFirst(file: string, all: readonly string[]): boolean {
  const shard = shardOf(file);
  if (shard === undefined || shard.index === 1) return true;
  const names = shardNames(file);
  return names.find((name) => all.includes(name)) === file;
}

function usable(read: readonly Read[]): readonly ModelFile[] {
  const projectors = read.filter(({ kind }) => kind.kind === 'projector');
  return read.flatMap(({ file, gguf, kind }) => {
    if (kind.kind !== 'model') return [];
    const shape = shapeOf(gguf);
    const fitting = projectors.filter((projector) => projectorFits(projector.gguf, shape.embedding));
    return [
      {
        file,
        size: gguf.size,
        projector: pairProjectors(
          file,
          fitting.map((projector) => projector.file),
        ),
        trainedContext: shape.trainedContext,
        architecture: shape.architecture,
        pooling: kind.pooling,
      },
    ];
  });
}

function folderProblem(
  folder: string,
  error: unknown,
): { readonly files: readonly string[]; readonly problems: readonly Problem[] } {
  const code = systemCode(error);
  if (code === undefined) throw AppError.from(error);
  const missing = code === 'ENOENT' || code === 'ENOTDIR';
  return {
    files: [],
    problems: [missing ? problems.folderMissing(folder) : problems.folderUnreadable(folder, code)],
  };
}
