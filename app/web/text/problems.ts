/**
 * Problems in the reader's language. The server tells each in English, with the values that its sentence is
 * made from; a problem that is not known here is shown in the server's words.
 */
import { PROBLEM_CODES, type ProblemCode } from '../../core/codes.ts';
import type { Problem } from '../../core/types.ts';

export interface SaidProblem {
  readonly said: string;
  readonly fix: string;
}

/** `of` gives a value of the problem's sentence. What has no value stands in the server's text, under Details. */
export interface ProblemValues {
  readonly model: string;
  has(key: string): boolean;
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
    has: (key) => problem.params?.[key] !== undefined,
    of: (key) => String(problem.params?.[key] ?? ''),
  });
}
