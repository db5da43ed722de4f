/**
 * Docker's errors in our words. An engine that answers with an error: `docker_refused`; one that does not
 * answer: `docker_unreachable`, with the system's code where there is one.
 */
import { z } from 'zod';
import { AppError, systemCode } from '../../errors.ts';

const Refusal = z.object({
  statusCode: z.number(),
  json: z.union([z.object({ message: z.string() }), z.unknown()]).optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const WithMessage = z.object({ message: z.string() });

/** Converts what dockerode threw; an AppError passes unchanged. */
export function dockerError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const refusal = Refusal.safeParse(thrown);
  if (refusal.success) {
    const { statusCode, json, message } = refusal.data;
    const said = WithMessage.safeParse(json);
    const text = said.success ? said.data.message.trim() : (message ?? `HTTP ${statusCode}`);
    return new AppError('docker_refused', text, { cause: thrown, details: { status: statusCode } });
  }
  const { message } = AppError.from(thrown);
  const code = systemCode(thrown) ?? null;
  return new AppError('docker_unreachable', message, { cause: thrown, details: { system: code } });
}

export function noAnswer(milliseconds: number): AppError {
  return new AppError('docker_unreachable', `no answer within ${milliseconds / 1000} s`, {
    details: { system: 'ETIMEDOUT' },
  });
}

/** HTTP status of a refusal; undefined for everything else. */
export function refusedWith(thrown: unknown): number | undefined {
  if (!(thrown instanceof AppError) || thrown.code !== 'docker_refused') return undefined;
  const { status } = thrown.details;
  return typeof status === 'number' ? status : undefined;
}

export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.code === 'docker_unreachable';
}

export function isTimeOut(thrown: unknown): boolean {
  return thrown instanceof AppError && thrown.details['system'] === 'ETIMEDOUT';
}
