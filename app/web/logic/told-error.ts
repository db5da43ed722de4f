/** Errors as the server tells them, in OpenAI's form. */
import { asRecord } from './json.ts';

export interface ToldError {
  /** Stable code; null where there is none, or where the page itself speaks. */
  readonly code: string | null;
  readonly message: string;
}

/** Null where the body is no error. */
export function errorOf(body: unknown): ToldError | null {
  const error = asRecord(asRecord(body)?.['error']);
  if (typeof error?.['message'] !== 'string') return null;
  const code = error['code'];
  return { code: typeof code === 'string' ? code : null, message: error['message'] };
}

/** The error of an answer that is none of 2xx; `otherwise` where its body says nothing, as from a proxy. */
export async function errorOfResponse(
  response: Response,
  otherwise = `HTTP ${response.status}`,
): Promise<ToldError> {
  const body: unknown = await response.json().catch(() => null);
  return errorOf(body) ?? ownWords(otherwise);
}

/** What the page says itself, in the reader's language. */
export function ownWords(message: string): ToldError {
  return { code: null, message };
}
