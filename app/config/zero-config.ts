/** Models without a word of configuration: one for each file that the scan found. */
import { displayName, distinct, modelName } from '../core/slug.ts';
import type { ModelFile } from '../ports.ts';
import type { NamedModel } from './profiles.ts';
import { modelSchema } from './schema-models.ts';

/** Each with the defaults of a configured model: GPU then CPU, one request at once, idle after 10 minutes. */
export function scannedModels(files: readonly ModelFile[]): NamedModel[] {
  const names = distinct(files.map(({ file }) => ({ key: file, name: modelName(file) })));
  return files
    .map(({ file, projector }) => ({
      name: names.get(file) ?? file,
      displayName: displayName(file),
      // The file's name is the machine's, not a person's: it does not pass through the form of the key.
      entry: { ...DEFAULTS, file, projector },
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const DEFAULTS = modelSchema.parse({ file: 'any.gguf' });
