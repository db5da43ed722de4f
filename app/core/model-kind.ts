/**
 * What a GGUF file is: a model to serve, a projector of one, or something else.
 */

import { numberOf, textOf } from './gguf-metadata.ts';
import type { Gguf } from './gguf-types.ts';

export type Pooling = 'none' | 'embedding' | 'rerank';

export type Kind =
  | { readonly kind: 'model'; readonly pooling: Pooling }
  | { readonly kind: 'projector' }
  /** Adapters, importance matrices, draft heads: not served by themselves. */
  | { readonly kind: 'other'; readonly why: string };

/** Names of files that go with a model but are none: draft heads and importance matrices. */
const COMPANION = /(^|[-_.])imatrix[-_.]|^(mtp|eagle3|dflash|dspark)-/i;

/** Architectures whose attention is bidirectional: they only embed, also where their file does not say so. */
export const ENCODERS: ReadonlySet<string> = new Set([
  'bert',
  'nomic-bert',
  'nomic-bert-moe',
  'neo-bert',
  'jina-bert-v2',
  'jina-bert-v3',
  'modern-bert',
  'gemma-embedding',
]);

/** What a file's name says of its precision (`-q4_k_m`): it is no part of the model's name. */
const PRECISION = /[-_.](i?q\d\w*|b?f16|f32|mxfp4)(?=[-_.])/g;

const RANK = 4;

/** Judges by `general.type`, then by architecture and the file's name (relative, with `/`). */
export function classify(file: string, gguf: Gguf): Kind {
  const base = file.slice(file.lastIndexOf('/') + 1);
  const architecture = textOf(gguf.metadata, 'general.architecture') ?? '';
  const type = textOf(gguf.metadata, 'general.type') ?? 'model';
  if (/mmproj/i.test(base) || type === 'mmproj' || architecture === 'clip') return { kind: 'projector' };
  if (type !== 'model') return { kind: 'other', why: `general.type is ${type}` };
  if (COMPANION.test(base)) return { kind: 'other', why: 'a companion file by its name' };
  return { kind: 'model', pooling: poolingOf(gguf, architecture) };
}

function poolingOf(gguf: Gguf, architecture: string): Pooling {
  const pooling = numberOf(gguf.metadata, `${architecture}.pooling_type`) ?? 0;
  if (pooling === RANK) return 'rerank';
  return pooling > 0 || ENCODERS.has(architecture) ? 'embedding' : 'none';
}

/**
 * The widths of vectors that a projector may make; empty where it does not say. Older projectors give
 * another width in their metadata, so the matrices that lead to the model count as well.
 */
export function projectorWidths(projector: Gguf): readonly number[] {
  const said = ['vision', 'audio']
    .map((kind) => numberOf(projector.metadata, `clip.${kind}.projection_dim`))
    .filter((width) => width !== undefined);
  if (said.length === 0) return [];
  const leading = projector.tensors.filter(({ name }) => name.startsWith('mm.')).flatMap(({ dims }) => dims);
  return [...new Set([...said, ...leading])];
}

/** False only where a projector certainly makes vectors of another width than the model takes. */
export function projectorFits(widths: readonly number[], embedding: number): boolean {
  return widths.length === 0 || embedding === 0 || widths.includes(embedding);
}

/**
 * The projector of a model among files that fit it: in the same folder, the one whose name has most in
 * common with the model's, else the first by name; null where there is none.
 */
export function pairedProjector(model: string, projectors: readonly string[]): string | null {
  const folder = folderOf(model);
  const near = projectors.filter((file) => folderOf(file) === folder).toSorted();
  let best: string | null = null;
  let most = -1;
  for (const file of near) {
    const common = commonWords(model, file);
    if (common > most) {
      best = file;
      most = common;
    }
  }
  return best;
}

function folderOf(file: string): string {
  return file.slice(0, Math.max(file.lastIndexOf('/'), 0));
}

function commonWords(a: string, b: string): number {
  const words = new Set(wordsOf(a));
  return wordsOf(b).filter((word) => words.has(word)).length;
}

function wordsOf(file: string): readonly string[] {
  return file
    .slice(file.lastIndexOf('/') + 1)
    .toLowerCase()
    .replaceAll(PRECISION, '')
    .split(/[^\p{L}\p{N}]+/u);
}
