import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash, fileParts, filesUnder } from '../lib/content-hash.ts';
import { modelsDir } from '../lib/paths.ts';
import type { Step } from '../lib/steps.ts';
import { tinyModel } from './tiny-model.ts';

export const tinyFile = 'tiny.gguf';

const stampFile = join(modelsDir, `.${tinyFile}.made-by`);

/** The tiny model as a file in the models folder, written anew when the program that writes it has changed. */
export const tinyModelStep: Step<string> = {
  name: `model ${tinyFile}`,
  advice: `See whether ${modelsDir} can be written and has room.`,
  find: async () => {
    const written = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
    return existsSync(join(modelsDir, tinyFile)) && written === programHash() ? tinyFile : undefined;
  },
  make: async () => {
    mkdirSync(modelsDir, { recursive: true });
    const part = join(modelsDir, `${tinyFile}.part`);
    writeFileSync(part, tinyModel());
    renameSync(part, join(modelsDir, tinyFile));
    writeFileSync(stampFile, programHash());
    return tinyFile;
  },
};

function programHash(): string {
  const sources = filesUnder(import.meta.dirname, (path) => /^(gguf|half|tiny.*)\.ts$/.test(path));
  return contentHash(fileParts(import.meta.dirname, sources));
}
