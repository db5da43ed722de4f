/**
 * Which layers attend to a sliding window only.
 */
import type { Metadata } from './gguf-metadata.ts';

/**
 * Every so many layers one, the last, attends to all: as llama.cpp fixes it by architecture where the file
 * has no `attention.sliding_window_pattern`. Architectures that are not here and have a window use it in no
 * layer: a larger estimate, never a smaller one.
 */
const PERIODS: ReadonlyMap<string, number> = new Map([
  ['gemma2', 2],
  ['gemma3', 6],
  ['gemma-embedding', 6],
  ['gemma3n', 5],
  ['gpt-oss', 2],
  ['llama4', 4],
  ['cohere2', 4],
  ['exaone4', 4],
  ['olmo2', 4],
]);

/** Every layer is the last of its period. */
const NO_WINDOWS = 1;

/** Whether a layer's cache holds only the window, by the file's own pattern or the architecture's. */
export function isWindowLayer(meta: Metadata, architecture: string, layer: number): boolean {
  const given = meta.get(`${architecture}.attention.sliding_window_pattern`);
  if (Array.isArray(given)) return Number(given[layer] ?? 0) !== 0;
  const period = typeof given === 'number' ? given : (PERIODS.get(architecture) ?? NO_WINDOWS);
  return period === 0 || layer % period < period - 1;
}
