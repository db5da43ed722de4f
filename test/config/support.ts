/** A configuration from text, as tests write it. */
import assert from 'node:assert/strict';
import { type ConfigProblem, type LoadedConfig, type Outside, parseConfig } from '../../app/config.ts';
import type { Gpu } from '../../app/core/types.ts';
import type { ModelFile } from '../../app/ports.ts';

export const nothingOutside: Outside = {
  variable: () => undefined,
  readFile: () => {
    throw new Error('no such file');
  },
};

export function load(text: string | null, outside: Outside = nothingOutside): LoadedConfig {
  const parsed = parseConfig(text, 'llamastead.yaml', outside);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.problems.map((problem) => problem.text).join('\n'));
  return parsed;
}

export function problemsOf(text: string, outside: Outside = nothingOutside): readonly ConfigProblem[] {
  const parsed = parseConfig(text, 'llamastead.yaml', outside);
  return parsed.ok ? [] : parsed.problems;
}

export function modelFile(file: string, more: Partial<ModelFile> = {}): ModelFile {
  return {
    file,
    size: 1,
    projector: null,
    trainedContext: 32_768,
    architecture: 'llama',
    pooling: 'none',
    ...more,
  };
}

export function gpu(name: string, more: Partial<Gpu> = {}): Gpu {
  return {
    name,
    kind: 'nvidia',
    engine: 'local',
    devices: ['CUDA0'],
    env: {},
    memory: 'dedicated',
    total: 8 * 2 ** 30,
    headroom: 512 * 2 ** 20,
    cards: {},
    ...more,
  };
}
