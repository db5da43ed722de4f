/** Request headers that the edge obeys, and the answer headers of a model request. */
import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { DRILL_HEADER } from '../../../core/drill.ts';
import type { Placement } from '../../../core/types.ts';

const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** Unguessable, so that nobody meets another one's id by counting; the number makes each one new. */
const RUN = randomBytes(9).toString('base64url');
let made = 0;

function newRequestId(): string {
  made += 1;
  return `req-${RUN}-${made.toString(36)}`;
}

/** The client's `X-Request-Id` where it is 1 to 128 printable ASCII characters, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && PRINTABLE.test(given) ? given : newRequestId();
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const LONGEST_MS = 24 * 3_600_000;

/** `ms`: null where there is none. */
export type DeadlineResult =
  | { readonly ok: true; readonly ms: number | null }
  | { readonly ok: false; readonly ms: null };

/**
 * The client's own deadline in ms: `Llamastead-Deadline` (`500ms`, `60s`, `5m`; a bare number is seconds),
 * else `x-stainless-read-timeout` (seconds, as OpenAI's SDKs send it). Not ok: a value of ours that is none.
 */
export function deadlineOf(headers: IncomingHttpHeaders): DeadlineResult {
  const own = headers['llamastead-deadline'];
  if (typeof own === 'string') {
    const match = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)?$/.exec(own.trim());
    const ms = match === null ? 0 : Number(match[1]) * (UNIT_MS[match[2] ?? 's'] ?? 0);
    return ms > 0 ? { ok: true, ms: Math.min(ms, LONGEST_MS) } : { ok: false, ms: null };
  }
  const sdk = headers['x-stainless-read-timeout'];
  if (sdk === undefined) return { ok: true, ms: null };
  const seconds = Number(sdk);
  return { ok: true, ms: seconds > 0 ? Math.min(seconds * 1000, LONGEST_MS) : null };
}

/** `Llamastead-Replay: never`. */
export function neverReplay(headers: IncomingHttpHeaders): boolean {
  const value = headers['llamastead-replay'];
  return typeof value === 'string' && value.trim().toLowerCase() === 'never';
}

/** The mark of a request that a drill sent; null: it has none. */
export function drillMark(headers: IncomingHttpHeaders): string | null {
  const value = headers[DRILL_HEADER];
  return typeof value === 'string' ? value : null;
}

/** Where an answer came from, as its headers tell. */
export interface AnswerFacts {
  readonly requestId: string;
  /** Null: no instance has had the request yet. */
  readonly model: string | null;
  readonly placement: Placement | null;
  readonly attempts: number;
  readonly queuedMs: number;
  /** From the grant to the first content or the whole answer; null: there was none. */
  readonly backendMs: number | null;
}

/** The contract's answer headers, flat name and value; `space` is where they are appended. */
export function answerHeaders(facts: AnswerFacts, space: string[]): string[] {
  space.push('X-Request-Id', facts.requestId);
  if (facts.model !== null) space.push('Llamastead-Model', facts.model);
  if (facts.placement !== null) space.push('Llamastead-Placement', facts.placement);
  const queued = String(Math.round(facts.queuedMs));
  space.push('Llamastead-Attempts', String(facts.attempts), 'Llamastead-Queued-Ms', queued);
  const backend = facts.backendMs === null ? '' : `, backend;dur=${Math.round(facts.backendMs * 10) / 10}`;
  space.push('Server-Timing', `queue;dur=${queued}${backend}`);
  return space;
}
