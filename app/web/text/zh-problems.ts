import type { ProblemPhrases } from './problems.ts';

export const zhProblems: ProblemPhrases = {};
