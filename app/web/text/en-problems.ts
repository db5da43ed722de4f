import type { ProblemPhrases } from './problems.ts';

export const enProblems: ProblemPhrases = {};
