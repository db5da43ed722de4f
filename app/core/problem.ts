/** What makes a problem one of its own: it is set, replaced and taken back by that. */
import type { ProblemId } from './types.ts';

/** Without its words: enough to take it back. */
export function problemId({ code, model, about }: ProblemId): ProblemId {
  return { code, ...(model === undefined ? {} : { model }), ...(about === undefined ? {} : { about }) };
}

export function problemKey({ code, model, about }: ProblemId): string {
  return `${code}:${model ?? ''}:${about ?? ''}`;
}
