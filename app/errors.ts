/**
 * The one error class: a stable code, what caused it, and details for people and logs. `unknown` is
 * converted once, at the edge where it was caught.
 */
export class AppError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** Wraps anything that was thrown; an AppError passes unchanged. `code` says who failed. */
  static from(thrown: unknown, code = 'internal'): AppError {
    if (thrown instanceof AppError) return thrown;
    if (thrown instanceof Error) return new AppError(code, thrown.message, { cause: thrown });
    return new AppError(code, String(thrown), { cause: thrown });
  }
}

/** The `code` of a system error (`ENOENT`), or undefined. */
export function systemCode(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  return typeof thrown.code === 'string' ? thrown.code : undefined;
}
