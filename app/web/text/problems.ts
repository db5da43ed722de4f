/**
 * Problems in the reader's language. The server tells each in English, with the values that its sentence is
 * made from; a problem that is not known here is shown in the server's words.
 */
import { PROBLEM_CODES, type ProblemCode } from '../../core/codes.ts';
import type { Problem } from '../../core/types.ts';


  'broker_failed',
  'config_invalid',
  'context_exceeded',
  'docker_failed',
  'docker_not_answering',
  'docker_not_running',
  'docker_socket_forbidden',
  'docker_socket_missing',
  'docker_too_old',
  'events_not_kept',
  'gpu_driver_missing',
  'gpu_memory_held',
  'gpu_not_used',
  'gpu_unknown',
  'holder_failed',
  'image_missing',
  'leftovers_found',
  'model_big_endian',
  'model_damaged',
  'model_file_missing',
  'model_link_broken',
  'model_missing',
  'model_not_gguf',
  'model_not_readable',
  'model_outside',
  'model_shard_missing',
  'model_tensor_type',
  'model_truncated',
  'model_unreadable',
  'model_version',
  'models_folder_empty',
  'models_folder_missing',
  'models_folder_unreadable',
  'models_not_shared',
  'no_placement',
  'poison',
  'reduced',
  'restart_needed',
  'second_controller',
  'settings_broken',
  'settings_unknown',
  'settings_unreadable',
  'state_broken',
  'state_unreadable',
  'state_unwritable',
] as const;
export const PROBLEM_CODES = [
export type ProblemCode = (typeof PROBLEM_CODES)[number];
export interface SaidProblem {
  readonly said: string;
  readonly fix: string;
}

/** `of` gives a value of the problem's sentence. What has no value stands in the server's text, under Details. */
export interface ProblemValues {
  readonly model: string;
  of(key: string): string;
}

/** Null: the server's own English is the text. */
export type ProblemPhrases = Readonly<Record<ProblemCode, (values: ProblemValues) => SaidProblem>> | null;

/** A newer server may tell of a problem that this page does not know. */
export type ToldProblem = Omit<Problem, 'code'> & { readonly code: string };

export function phraseProblem(problem: ToldProblem, phrases: ProblemPhrases): SaidProblem {
  const code = PROBLEM_CODES.find((known) => known === problem.code);
  if (code === undefined || phrases === null) return { said: problem.text, fix: problem.fix };
  return phrases[code]({
    model: problem.model ?? '',
    of: (key) => String(problem.params?.[key] ?? ''),
  });
}
