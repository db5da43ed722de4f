/**
 * What can be wrong with a model file or the folder, in words for its owner.
 */
import type { Problem } from '../../core/types.ts';
import { AppError } from '../../errors.ts';

/** An error that carries the problem to show: code `model_unreadable`, `details.problem`. */
export function unreadable(problem: Problem, cause?: unknown): AppError {
  return new AppError('model_unreadable', problem.text, { cause, details: { problem } });
}

/** The problem inside an AppError `model_unreadable`, or undefined for any other error. */
export function problemOf(error: unknown): Problem | undefined {
  if (!(error instanceof AppError) || error.code !== 'model_unreadable') return undefined;
  const { problem } = error.details;
  return isProblem(problem) ? problem : undefined;
}

function isProblem(value: unknown): value is Problem {
  return typeof value === 'object' && value !== null && 'code' in value && 'text' in value && 'fix' in value;
}

const AGAIN = 'Download the file again and compare its size with the publisher’s.';

export const problems = {
  missing: (file: string): Problem => ({
    code: 'model_missing',
    about: file,
    text: `The model file "${file}" is not in the models folder.`,
    fix: 'Put the file there, or correct its name in the configuration.',
    params: { file },
  }),
  notReadable: (file: string, why: string): Problem => ({
    code: 'model_not_readable',
    about: file,
    text: `The model file "${file}" cannot be read: ${why}.`,
    fix: 'Check the permissions of the file and the health of the disk.',
    params: { file, why },
  }),
  outside: (file: string): Problem => ({
    code: 'model_outside',
    about: file,
    text: `"${file}" leads out of the models folder.`,
    fix: 'Copy or hard-link the file into the models folder; links out of it are refused.',
    params: { file },
  }),
  danglingLink: (file: string): Problem => ({
    code: 'model_link_broken',
    about: file,
    text: `"${file}" is a link to a file that is not there.`,
    fix: 'Restore its target inside the models folder, or remove the link.',
    params: { file },
  }),
  notGguf: (file: string, start: string): Problem => ({
    code: 'model_not_gguf',
    about: file,
    text: `"${file}" is not a GGUF file: it begins with ${start}.`,
    fix: 'Use a model in GGUF form. A web page saved under this name begins with "<": download the file itself.',
    params: { file, start },
  }),
  version: (file: string, version: number): Problem => ({
    code: 'model_version',
    about: file,
    text: `"${file}" has GGUF version ${version}; versions 2 and 3 are supported.`,
    fix:
      version > 3
        ? 'Update Llamastead, or take a file of version 3.'
        : 'Take a newer conversion of this model; llama.cpp no longer reads this version.',
    params: { file, version },
  }),
  bigEndian: (file: string): Problem => ({
    code: 'model_big_endian',
    about: file,
    text: `"${file}" is a big-endian GGUF file, which this machine cannot run.`,
    fix: 'Take the usual little-endian file of the same model.',
    params: { file },
  }),
  truncated: (file: string, have: number, want: number): Problem => ({
    code: 'model_truncated',
    about: file,
    text: `"${file}" is cut off: it has ${have} bytes, its header announces ${want}.`,
    fix: `${AGAIN} A download that still runs ends by itself.`,
    params: { file, have, want },
  }),
  damaged: (file: string, what: string): Problem => ({
    code: 'model_damaged',
    about: file,
    text: `The header of "${file}" is damaged: ${what}.`,
    fix: AGAIN,
    params: { file, what },
  }),
  tensorType: (file: string, tensor: string, type: number): Problem => ({
    code: 'model_tensor_type',
    about: file,
    text: `"${file}" stores "${tensor}" in a form that is not known here (type ${type}).`,
    fix: 'Update Llamastead and its images, or take another quantisation of this model.',
    params: { file, tensor, type },
  }),
  shardMissing: (file: string, missing: string, count: number): Problem => ({
    code: 'model_shard_missing',
    about: file,
    text: `"${file}" is one of ${count} parts; "${missing}" is missing.`,
    fix: 'Put all parts of the model into the same folder.',
    params: { file, missing, count },
  }),
  folderMissing: (folder: string): Problem => ({
    code: 'models_folder_missing',
    text: `The models folder ${folder} does not exist.`,
    fix: 'Mount the disk that holds your models, or set paths.models; then it is found by itself.',
    params: { folder },
  }),
  folderUnreadable: (folder: string, why: string): Problem => ({
    code: 'models_folder_unreadable',
    text: `The models folder ${folder} cannot be read: ${why}.`,
    fix: 'Give Llamastead read permission on the folder.',
    params: { folder, why },
  }),
  folderEmpty: (folder: string): Problem => ({
    code: 'models_folder_empty',
    text: `There is no model file (.gguf) in the models folder ${folder}.`,
    fix: 'Copy a GGUF file there. If there were models before, their disk is probably not mounted: mount it. If it is not found within a minute, restart the container of Llamastead.',
    params: { folder },
  }),
} as const;
