/** What is done with the files of the models folder. */
import { estimator } from '../adapters/gguf/estimator.ts';
import { modelFiles } from '../adapters/gguf/model-files.ts';
import { readAhead } from '../adapters/gguf/read-ahead.ts';
import type { Log } from '../log.ts';
import type { ReadAhead } from '../ports/read-ahead.ts';
import type { Estimator, ModelFiles } from '../ports.ts';

export interface FolderParts {
  readonly modelFiles: ModelFiles;
  readonly estimator: Estimator;
  readonly readAhead: ReadAhead;
}

export function folderParts(modelsFolder: string, log: Log): FolderParts {
  return {
    modelFiles: modelFiles({ modelsFolder, log: log.logger }),
    estimator: estimator({ modelsFolder }),
    readAhead: readAhead({ modelsFolder }),
  };
}
