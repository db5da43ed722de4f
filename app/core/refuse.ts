/** Explicit ends: our own errors, with the numbers that decide and a hint when to come back. */
import type { Fit } from './admission.ts';
import type { Decision } from './changes.ts';
import type { NewFact } from './facts.ts';
import type { Refusal, RefusalCode, Request } from './request.ts';
import type { Reason } from './types.ts';

const GIB = 1024 ** 3;

export function refusal(code: RefusalCode, message: string, retryAfter: number | null = null): Refusal {
  return { code, message, retryAfter };
}

/**
 * Ends a request that is known to the state, and tells it where a backend was at fault. Where text was forwarded,
 * every end but a whole answer and poison is `failed_after_output`.
 */
export function refuseRequest(out: Decision, request: Request, refusal: Refusal): void {
  const isLate = request.continues !== null && refusal.code !== 'poison';
  const refused: Refusal = isLate ? { ...refusal, code: 'failed_after_output', retryAfter: null } : refusal;
  out.changes.push({ type: 'request_closed', request: request.id, answered: false });
  out.effects.push({ type: 'refuse', request: request.id, refusal: refused });
  const told = factOf(request, refused);
  if (told !== null) out.facts.push(told);
}

function factOf(request: Request, refused: Refusal): NewFact | null {
  if (!['backend_failed', 'failed_after_output', 'poison', 'deadline'].includes(refused.code)) return null;
  return {
    type: request.tried.size > 0 && request.attempts > 1 ? 'failover_failed' : 'request_failed',
    model: request.model,
    requestId: request.externalId,
    code: refused.code,
    attempts: request.attempts,
    detail: refused.message,
    ...(request.lastFailure === null ? {} : { reason: request.lastFailure as Reason }),
  };
}

/** One decimal, as settings and Home Assistant show memory. */
export function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}

const LIMITED_BY: Readonly<Record<Fit['by'], string>> = {
  available: 'of RAM is free beside the reserve for the NAS',
  budget: 'is left of the memory that models may take',
  vram: 'of GPU memory is free',
};

export function tooBig(model: string, fit: Fit): string {
  return `${model} needs ${gib(fit.need)}, but only ${gib(fit.room)} ${LIMITED_BY[fit.by]}.`;
}
