/** Problems in the reader's language where it is known, else in the server's English. */
import type { Problem } from '../../core/types.ts';

export interface SaidProblem {
  readonly said: string;
  readonly fix: string;
}

/** A phrase made from a problem's `params`; null where they are not what it needs. */
export type ProblemPhrase = (
  params: Readonly<Record<string, string | number>>,
  model: string,
) => SaidProblem | null;

/** By code. */
export type ProblemPhrases = Readonly<Record<string, ProblemPhrase>>;

export function phraseProblem(problem: Problem, phrases: ProblemPhrases): SaidProblem {
  const phrase = phrases[problem.code];
  const said = phrase?.(problem.params ?? {}, problem.model ?? '') ?? null;
  return said ?? { said: problem.text, fix: problem.fix };
}
