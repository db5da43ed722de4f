import type { ProblemPhrases } from './problems.ts';

export const koProblems: ProblemPhrases = {};
