/** Errors in the reader's language, with the server's own sentence, which has the names and numbers. */
import { ERROR_CODES, type ErrorCode } from '../../core/codes.ts';
import type { ToldError } from '../logic/told-error.ts';

/** Null: the server's own English is the text. */
export type ErrorPhrases = Readonly<Record<ErrorCode, string>> | null;

export interface SaidError {
  readonly said: string;
  /** English of the server; null where `said` is all. */
  readonly detail: string | null;
}

/** A code that is not known here, as of a newer server or of a backend, is told in the server's words. */
export function phraseError({ code, message }: ToldError, phrases: ErrorPhrases): SaidError {
  const known = ERROR_CODES.find((one) => one === code);
  if (known === undefined || phrases === null) return { said: message, detail: null };
  return { said: phrases[known], detail: message };
}
