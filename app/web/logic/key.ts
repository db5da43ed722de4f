/** The key of the models' API, as the chat box asks for it. */
import type { ToldError } from './told-error.ts';

/** Why the key is asked for; `wait`: too many wrong ones came from here, another may be tried in so many seconds. */
export type KeyAsked =
  | { readonly why: 'needed' | 'wrong' }
  | { readonly why: 'wait'; readonly seconds: number };

/** What an answer of the models' API says about the key; null: nothing. `given`: one was sent. */
export function keyAskedBy(
  status: number,
  error: ToldError,
  retryAfter: string | null,
  given: boolean,
): KeyAsked | null {
  if (status === 401) return { why: given ? 'wrong' : 'needed' };
  if (error.code !== 'too_many_attempts') return null;
  return { why: 'wait', seconds: Number(retryAfter ?? '0') };
}

/** A header holds bytes: a key in another script goes as UTF-8, as other programs send it. */
export function keyHeader(key: string): Readonly<Record<string, string>> {
  if (key === '') return {};
  const bytes = String.fromCharCode(...new TextEncoder().encode(key));
  return { authorization: `Bearer ${bytes}` };
}
