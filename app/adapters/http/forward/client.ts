/** Whom a request counts for when there is a line: a client gets its turn, however many requests it has. */
import type { IncomingMessage } from 'node:http';
import { fingerprint, givenSecret } from '../security/tokens.ts';

/** Headers by which chat pages and proxies name the person behind a request, the first that is there counts. */
export const USER_HEADERS = [
  'x-openwebui-user-id',
  'x-openwebui-user-email',
  'x-librechat-user-id',
  'x-litellm-end-user-id',
  'x-litellm-customer-id',
  'x-user-id',
] as const;

const ADDRESS = 'address ';

/**
 * The API key where keys are checked; else the user that the body or a header names, else the key, which then
 * proves nothing but tells clients apart, else the address. Keys and names come out as hashes that mean nothing
 * outside this process. `user`: the body's field.
 */
export function clientOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  user: string | null,
  keysChecked: boolean,
): string {
  const key =
    headers.authorization === undefined && headers['x-api-key'] === undefined ? null : givenSecret(headers);
  if (keysChecked && key !== null) return hashed('key', key);
  const named = user ?? namedBy(headers);
  if (named !== null) return hashed('user', named);
  return key === null ? ADDRESS + (socket.remoteAddress ?? '') : hashed('key', key);
}

/** The same for what must not hang on where a client is: those whom only the address tells apart are one. */
export function callerOf(client: string): string {
  return client.startsWith(ADDRESS) ? ADDRESS : client;
}

function namedBy(headers: IncomingMessage['headers']): string | null {
  for (const name of USER_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

/** A home has few clients, which ask often: each is hashed once. Who may ask at all was decided before. */
const known = new Map<string, string>();
const MOST_KNOWN = 256;

function hashed(kind: string, text: string): string {
  const before = known.get(text);
  const hash = before ?? fingerprint(text).toString('base64url', 0, 12);
  if (before === undefined) {
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(text, hash);
  }
  return `${kind} ${hash}`;
}
