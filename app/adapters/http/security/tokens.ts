/**
 * Tokens, keys and the page's cookie. Compares take the same time whatever differs: both sides are hashed
 * with a key of this process first, so neither length nor prefix shows.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const PROCESS_KEY = randomBytes(32);

/** A hash of a secret that means nothing outside this process. */
export function fingerprint(secret: string): Buffer {
  return createHmac('sha256', PROCESS_KEY).update(secret).digest();
}

/** Constant-time equality of two secrets. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(fingerprint(a), fingerprint(b));
}

const hashedLists = new WeakMap<readonly string[], readonly Buffer[]>();

/** Hashes of a list of the configuration, made once a list. */
function hashesOf(known: readonly string[]): readonly Buffer[] {
  const made = hashedLists.get(known);
  if (made !== undefined) return made;
  const hashes = known.map(fingerprint);
  hashedLists.set(known, hashes);
  return hashes;
}

/** True when `given` is one of `known`; every one of them is compared. `known` must not change. */
export function oneOf(given: string, known: readonly string[]): boolean {
  const hash = fingerprint(given);
  let found = false;
  for (const one of hashesOf(known)) found = timingSafeEqual(hash, one) || found;
  return found;
}

/** The secret of `Authorization: Bearer`, or of `x-api-key` as Anthropic's clients send it. */
export function givenSecret(headers: IncomingHttpHeaders): string | null {
  const bearer = /^Bearer +(.*\S)/i.exec(headers.authorization ?? '')?.[1];
  const key = headers['x-api-key'];
  const given = bearer ?? (typeof key === 'string' ? key : '');
  // Node reads header bytes as Latin-1; clients send UTF-8.
  return given === '' ? null : Buffer.from(given, 'latin1').toString('utf8');
}

/** What the cookie holds for a token: not the token, and worthless once the token is changed. */
export function sessionValue(token: string): string {
  return createHmac('sha256', token).update('llamastead session').digest('base64url');
}

/** Two homes behind one host name share its cookies, so the port that the browser asked is in the name. */
export function cookieName(host: string | undefined): string {
  const port = /:(\d{1,5})$/.exec(host ?? '')?.[1];
  return `llamastead_${port ?? 'web'}`;
}

/** True when the request carries the cookie of this token. */
export function hasSession(headers: IncomingHttpHeaders, token: string): boolean {
  if (headers.cookie === undefined) return false;
  const prefix = `${cookieName(headers.host)}=`;
  const expected = sessionValue(token);
  return headers.cookie
    .split(';', 50)
    .map((part) => part.trim())
    .some((part) => part.startsWith(prefix) && sameSecret(part.slice(prefix.length), expected));
}

/** The Set-Cookie line that begins a session (30 days), or ends it with `token` null. */
export function sessionCookie(host: string | undefined, token: string | null): string {
  const value = token === null ? '' : sessionValue(token);
  const age = token === null ? 0 : 30 * 24 * 3600;
  return `${cookieName(host)}=${value}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict`;
}
