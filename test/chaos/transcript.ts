/** What one client sent and saw: the evidence that the checker reads. Times are milliseconds of one clock. */
export interface Transcript {
  readonly id: string;
  readonly kind: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly sentAt: number;
  readonly endedAt: number;
  /** Null: no head came. */
  readonly status: number | null;
  readonly answerHeaders: Readonly<Record<string, string>>;
  readonly raw: string;
  readonly validUtf8: boolean;
  readonly end: End;
}

/**
 * How the connection ended: `whole` by the server, as HTTP says an answer ends; `left` by the client itself;
 * `hung`: not at all, for longer than anything takes; `broken` otherwise.
 */
export type End =
  | { readonly kind: 'whole' }
  | { readonly kind: 'left'; readonly why: string }
  | { readonly kind: 'hung'; readonly seconds: number }
  | { readonly kind: 'broken'; readonly error: string };
