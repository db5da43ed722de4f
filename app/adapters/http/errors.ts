/**
 * Our own errors on the wire: one table from code to status and type, and the body
 * `{"error": {message, type, code, request_id}}` in OpenAI's form. Paths with a form of their own build it
 * from the same `OwnError` (`forward/protocols.ts`).
 */
import type { ServerResponse } from 'node:http';
import type { ErrorCode } from '../../core/codes.ts';
import type { Overflow } from '../../core/request.ts';

interface Row {
  readonly status: number;
  readonly type: string;
  /** Trying again does not help, whatever it carries: sent as `x-should-retry: false`, which SDKs obey. */
  readonly final?: true;
}

const ROWS: Readonly<Record<ErrorCode, Row>> = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  context_exceeded: { status: 400, type: 'exceed_context_size_error' },
  invalid_setting: { status: 400, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'timeout_error' },
  head_too_large: { status: 431, type: 'invalid_request_error' },
  unauthorized: { status: 401, type: 'authentication_error' },
  forbidden_host: { status: 403, type: 'permission_error' },
  forbidden_origin: { status: 403, type: 'permission_error' },
  token_needed: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  unknown_model: { status: 404, type: 'not_found_error' },
  unknown_setting: { status: 404, type: 'not_found_error' },
  drill_running: { status: 409, type: 'invalid_request_error' },
  drill_refused: { status: 409, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  body_too_large: { status: 413, type: 'invalid_request_error' },
  idempotency_gone: { status: 410, type: 'invalid_request_error', final: true },
  idempotency_mismatch: { status: 422, type: 'invalid_request_error', final: true },
  poison: { status: 422, type: 'invalid_request_error', final: true },
  queue_full: { status: 429, type: 'rate_limit_error' },
  too_many_attempts: { status: 429, type: 'rate_limit_error' },
  internal: { status: 500, type: 'server_error' },
  backend_failed: { status: 502, type: 'server_error' },
  failed_after_output: { status: 502, type: 'server_error' },
  capacity: { status: 503, type: 'unavailable_error' },
  preparing: { status: 503, type: 'unavailable_error' },
  load_failed: { status: 503, type: 'unavailable_error' },
  unload_failed: { status: 503, type: 'unavailable_error' },
  mode_off: { status: 503, type: 'unavailable_error', final: true },
  deadline: { status: 504, type: 'timeout_error' },
};

const UNKNOWN: Row = { status: 500, type: 'server_error' };

function rowOf(code: string): Row {
  return Object.hasOwn(ROWS, code) ? ROWS[code as ErrorCode] : UNKNOWN;
}

/** Codes whose `retryAfter: null` means "never": a model that can never fit. */
const RETRIED = new Set(['queue_full', 'capacity', 'preparing']);

/** One of our errors, ready to be put in any path's form. */
export interface OwnError {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly requestId: string;
  /** Whole seconds for `Retry-After`; null: none. */
  readonly retryAfter: number | null;
  /** Value of `x-should-retry`; null: not sent. */
  readonly shouldRetry: false | null;
  /** A prompt that is too long: told with llama-server's fields. */
  readonly overflow: Overflow | null;
}

/** HTTP status of one of our codes; 500 for a code that has none. */
export function statusOf(code: string): number {
  return rowOf(code).status;
}

/**
 * Fills in what a code means. `retryAfter` in seconds; `replayed`: it had more than one attempt, so a
 * `backend_failed` is final.
 */
export function ownError(
  code: string,
  message: string,
  requestId: string,
  options: {
    readonly retryAfter?: number | null;
    readonly replayed?: boolean;
    readonly overflow?: Overflow | undefined;
  } = {},
): OwnError {
  const row = rowOf(code);
  const retryAfter = options.retryAfter ?? null;
  const final =
    row.final === true ||
    (code === 'backend_failed' && options.replayed === true) ||
    (RETRIED.has(code) && retryAfter === null);
  return {
    code,
    status: row.status,
    type: row.type,
    message,
    requestId,
    retryAfter: retryAfter === null ? null : Math.max(1, Math.ceil(retryAfter)),
    shouldRetry: final ? false : null,
    overflow: options.overflow ?? null,
  };
}

/** The value of `error` in OpenAI's form; of a prompt that is too long in llama-server's, where `code` is the status. */
export function errorObject(error: OwnError): Record<string, unknown> {
  if (error.overflow !== null) {
    const { status: code, message, type, requestId: request_id, overflow } = error;
    return { code, message, type, n_prompt_tokens: overflow.tokens, n_ctx: overflow.context, request_id };
  }
  return { message: error.message, type: error.type, code: error.code, request_id: error.requestId };
}

/** Headers that every error answer carries, beside `content-type` and `content-length`; flat name, value. */
export function errorHeaders(error: OwnError): string[] {
  const headers = ['x-request-id', error.requestId];
  if (error.retryAfter !== null) headers.push('retry-after', String(error.retryAfter));
  if (error.shouldRetry === false) headers.push('x-should-retry', 'false');
  return headers;
}

/** Ends the answer with one of our errors in OpenAI's form; does nothing when its head is already sent. */
export function sendError(
  res: ServerResponse,
  code: string,
  message: string,
  requestId: string,
  retryAfter: number | null = null,
): void {
  if (res.headersSent) return;
  const error = ownError(code, message, requestId, { retryAfter });
  const body = JSON.stringify({ error: errorObject(error) });
  res.statusCode = error.status;
  res.setHeader('content-type', 'application/json; charset=utf-8');
  res.setHeader('content-length', Buffer.byteLength(body));
  const headers = errorHeaders(error);
  for (let i = 0; i < headers.length; i += 2) res.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  res.end(body);
}
