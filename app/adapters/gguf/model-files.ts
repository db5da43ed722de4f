/**
 * Every usable model below the models folder, and a problem for each file that is not.
 */
import {
  classify,
  type Kind,
  pairedProjector,
  projectorFits,
  projectorWidths,
} from '../../core/model-kind.ts';
import { shapeOf } from '../../core/model-shape.ts';
import { AppError, systemCode } from '../../errors.ts';
import type { ModelFile, ModelFiles } from '../../ports.ts';
import { identity, readModel, shardNames, shardOf } from './model-header.ts';
import { problemOf, problems } from './problems.ts';
import { type Found, listModels } from './walk.ts';

/** The part of a logger that is used here; pino fits. */
export interface ScanLog {
  debug(details: Readonly<Record<string, unknown>>, text: string): void;
}

/** What the scan needs to know of a file; small, so that it is kept from scan to scan. */
interface Description {
  readonly file: string;
  readonly size: number;
  readonly kind: Kind;
  readonly embedding: number;
  readonly trainedContext: number | null;
  readonly architecture: string;
  /** Widths of a projector's vectors. */
  readonly widths: readonly number[];
}

/** `scan` looks at every file and reads the headers of those that are new or changed. It never rejects for one. */
export function modelFiles({
  modelsFolder,
  log,
}: {
  readonly modelsFolder: string;
  readonly log?: ScanLog;
}): ModelFiles {
  let known: ReadonlyMap<string, Description> = new Map();

  async function describe(file: string, seen: Map<string, Description>): Promise<Description> {
    const key = await identity(modelsFolder, file);
    const description = known.get(key) ?? (await read(modelsFolder, file));
    if (!known.has(key) && description.kind.kind === 'other') {
      log?.debug({ file, why: description.kind.why }, 'file is no model of its own');
    }
    seen.set(key, description);
    return description;
  }

  return {
    async scan() {
      const listed = await list(modelsFolder);
      const found = [...listed.problems];
      const seen = new Map<string, Description>();
      const described: Description[] = [];
      for (const file of firstShards(listed.files)) {
        try {
          described.push(await describe(file, seen));
        } catch (error) {
          const problem = problemOf(error);
          if (problem === undefined) throw AppError.from(error);
          found.push(problem);
        }
      }
      known = seen;
      const files = usable(described);
      if (files.length === 0 && found.length === 0) found.push(problems.folderEmpty(modelsFolder));
      return { files, problems: found };
    },
  };
}

async function read(modelsFolder: string, file: string): Promise<Description> {
  const gguf = await readModel(modelsFolder, file);
  const kind = classify(file, gguf);
  const { embedding, trainedContext, architecture } = shapeOf(gguf);
  const widths = kind.kind === 'projector' ? projectorWidths(gguf) : [];
  return { file, size: gguf.size, kind, embedding, trainedContext, architecture, widths };
}

/** Later shards belong to their first one; where that is missing, the lowest present part stands for it. */
function firstShards(files: readonly string[]): readonly string[] {
  const present = new Set(files);
  return files.filter((file) => {
    const shard = shardOf(file);
    if (shard === undefined || shard.index === 1) return true;
    return shardNames(file).find((name) => present.has(name)) === file;
  });
}

function usable(described: readonly Description[]): readonly ModelFile[] {
  const projectors = described.filter(({ kind }) => kind.kind === 'projector');
  return described.flatMap(({ file, size, kind, embedding, trainedContext, architecture }) => {
    if (kind.kind !== 'model') return [];
    const fitting = projectors.filter(({ widths }) => projectorFits(widths, embedding));
    const projector = pairedProjector(
      file,
      fitting.map((one) => one.file),
    );
    return [{ file, size, projector, trainedContext, architecture, pooling: kind.pooling }];
  });
}

async function list(folder: string): Promise<Found> {
  try {
    return await listModels(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw AppError.from(error);
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    const problem = missing ? problems.folderMissing(folder) : problems.folderUnreadable(folder, code);
    return { files: [], problems: [problem] };
  }
}
