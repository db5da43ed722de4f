/**
 * Our own errors on the wire: `{"error": {message, type, code, request_id}}`, each code with its status.
 */
import type { ServerResponse } from 'node:http';

const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden_host: 403,
  forbidden_origin: 403,
  unknown_model: 404,
  unknown_setting: 404,
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  poison: 422,
  idempotency_mismatch: 422,
  invalid_setting: 400,
  queue_full: 429,
  too_many_attempts: 429,
  internal: 500,
  backend_failed: 502,
  capacity: 503,
  preparing: 503,
  mode_off: 503,
  deadline: 504,
};

/** HTTP status of one of our codes; 500 for a code that has none. */
export function statusOf(code: string): number {
  return STATUS[code] ?? 500;
}

/** Ends the answer with one of our errors; does nothing when its head is already on the way. */
export function sendError(
  res: ServerResponse,
  code: string,
  message: string,
  requestId: string,
  retryAfter: number | null = null,
): void {
  if (res.headersSent) return;
  const status = statusOf(code);
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  const body = JSON.stringify({ error: { message, type, code, request_id: requestId } });
  res.statusCode = status;
  res.setHeader('content-type', 'application/json; charset=utf-8');
  res.setHeader('content-length', Buffer.byteLength(body));
  res.setHeader('x-request-id', requestId);
  if (retryAfter !== null) res.setHeader('retry-after', Math.max(1, Math.ceil(retryAfter)));
  res.end(body);
}
