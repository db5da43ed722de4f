/** The header `Idempotency-Key`, and what it stands for: one answer for one caller, path and body. */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const LONGEST = 255;
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

export type KeyResult =
  /** `key`: null where none was sent. */
  | { readonly ok: true; readonly key: string | null }
  /** Names the header and what was expected. */
  | { readonly ok: false; readonly key: null; readonly message: string };

/** 1 to 255 printable ASCII characters, taken as they are. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): KeyResult {
  const given = headers['idempotency-key'];
  if (given === undefined) return { ok: true, key: null };
  const key = String(given);
  if (key.length <= LONGEST && PRINTABLE.test(key)) return { ok: true, key };
  const shown = key.length > LONGEST ? `it has ${key.length}` : `it is ${JSON.stringify(key)}`;
  const message = `Idempotency-Key must be 1 to ${LONGEST} printable ASCII characters, best a random UUID; ${shown}.`;
  return { ok: false, key: null, message };
}

/** Callers can't meet each other's answers, nor can one path another's. */
export function answerId(caller: string, path: string, key: string): string {
  return sha256(JSON.stringify([caller, path, key]));
}

/** Tells two bodies apart, byte for byte. */
export function sha256(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('base64url');
}
