/** The request's body: read whole, within a limit, and looked into only for what the edge needs. */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Clock } from '../../../ports.ts';
import type { Alarms } from './alarms.ts';
import { isBackground } from './background.ts';
import { asksForPlainText } from './resume/eligible.ts';
import { textBytes, withoutLongStrings } from './skim.ts';

/** What the edge reads of a body; the bytes themselves stay as they are. */
export interface BodyFields {
  /** Null: none given. */
  readonly model: string | null;
  readonly stream: boolean;
  /** Tokens that the client allows the answer; null: not given. */
  readonly maxTokens: number | null;
  /** Prompt progress can be asked for without the client's noticing: not asked by itself, one choice. */
  readonly progressFree: boolean;
  /** Who asks, by the body's own word: `user`, or `metadata.user_id` in Anthropic's form; null: not given. */
  readonly user: string | null;
  readonly background: boolean;
  /** It asks for one plain text, which could be continued. */
  readonly plainText: boolean;
  /** Bytes without those of pictures, which bound the prompt's tokens. */
  readonly textBytes: number;
}

export type BodyResult =
  | { readonly ok: true; readonly fields: BodyFields }
  /** Plain English: what was expected. */
  | { readonly ok: false; readonly message: string };

/** Why a body was not read to its end; the message is plain English. */
export interface UnreadBody {
  readonly code: 'body_too_large' | 'request_timeout';
  readonly message: string;
}

export interface BodyBounds {
  /** Bytes. */
  readonly limit: number;
  readonly clock: Clock;
  readonly alarms: Alarms;
}

/** A body of which nothing comes for so long is given up. */
const BODY_IDLE_MS = 30_000;

/** Reads the body whole. `done` is called once, but not when the client leaves before the end. */
export function readBody(
  req: IncomingMessage,
  { limit, clock, alarms }: BodyBounds,
  done: (body: Buffer | UnreadBody) => void,
): void {
  if (Number(req.headers['content-length'] ?? 0) > limit) {
    done(tooLarge(limit));
    return;
  }
  let chunks: Buffer[] = [];
  let size = 0;
  const idleAt = () => clock.now().mono + BODY_IDLE_MS;
  const patience = { at: idleAt(), index: -1, ring: () => finish(tooSlow(size)) };
  const stop = () => {
    if (patience.index >= 0) alarms.remove(patience);
    req.off('data', take).off('end', whole).off('close', stop);
    chunks = [];
  };
  const finish = (result: Buffer | UnreadBody) => {
    stop();
    done(result);
  };
  const take = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    patience.at = idleAt();
    if (size > limit) finish(tooLarge(limit));
  };
  const whole = () => {
    const [first] = chunks;
    finish(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size));
  };
  alarms.add(patience);
  req.on('data', take).on('end', whole).on('close', stop);
}

function tooLarge(limit: number): UnreadBody {
  return { code: 'body_too_large', message: `The body is larger than ${limit} bytes.` };
}

function tooSlow(size: number): UnreadBody {
  const message = `Nothing more of the body came for ${BODY_IDLE_MS / 1000} s; ${size} bytes were there.`;
  return { code: 'request_timeout', message };
}

const LARGE_BYTES = 16 * 1024;

/** Parses the body for the fields of `BodyFields`; a header may say that it is background work. */
export function readFields(body: Buffer, headers: IncomingHttpHeaders = {}): BodyResult {
  let parsed: unknown;
  try {
    const skimmed = body.length > LARGE_BYTES ? withoutLongStrings(body) : null;
    parsed = JSON.parse(skimmed ?? body.toString('utf8'));
  } catch (error) {
    return { ok: false, message: notJson(body, error) };
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return {
      ok: false,
      message: 'The body must be a JSON object such as {"model": "chat", "messages": [...]}.',
    };
  }
  const fields = parsed as Readonly<Record<string, unknown>>;
  const model = fields['model'] ?? null;
  if (model !== null && typeof model !== 'string') {
    return {
      ok: false,
      message: `"model" must be a string, the name of a model; it is ${JSON.stringify(model).slice(0, 60)}.`,
    };
  }
  return {
    ok: true,
    fields: {
      model,
      stream: fields['stream'] === true,
      maxTokens: firstNumber(fields['n_predict'], fields['max_completion_tokens'], fields['max_tokens']),
      progressFree: fields['return_progress'] === undefined && (fields['n'] ?? 1) === 1,
      user: userOf(fields),
      background: isBackground(headers, fields),
      plainText: asksForPlainText(fields),
      textBytes: body.length > LARGE_BYTES ? textBytes(body) : body.length,
    },
  };
}

function notJson(body: Buffer, error: unknown): string {
  if (body.length === 0) return 'The body is empty; a JSON object with "model" and the prompt was expected.';
  const why = error instanceof Error ? error.message : String(error);
  return `The body is not valid JSON (${why.slice(0, 200)}); a JSON object with "model" and the prompt was expected.`;
}

function userOf({ user, metadata }: Readonly<Record<string, unknown>>): string | null {
  if (typeof user === 'string' && user !== '') return user;
  if (typeof metadata !== 'object' || metadata === null || !('user_id' in metadata)) return null;
  return typeof metadata.user_id === 'string' && metadata.user_id !== '' ? metadata.user_id : null;
}

function firstNumber(...values: readonly unknown[]): number | null {
  for (const value of values) if (typeof value === 'number' && value > 0) return value;
  return null;
}

/** SHA-256 over path and body. */
export function bodyHash({ path, body }: { readonly path: string; readonly body: Buffer }): string {
  return createHash('sha256').update(path).update('\0').update(body).digest('base64url');
}

const PROGRESS = Buffer.from('{"return_progress":true,');

/** The same body that also asks for prompt progress. Takes a JSON object that has at least one member. */
export function askForProgress(body: Buffer): Buffer {
  return Buffer.concat([PROGRESS, body.subarray(body.indexOf('{') + 1)]);
}
