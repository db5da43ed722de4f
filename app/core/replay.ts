/**
 * The replay table: what becomes of an attempt that did not end with a whole answer. The verdict rests on
 * socket and HTTP evidence alone and is given at once; Docker's evidence names the reason later. Rows are
 * tried from the top, the first that matches wins.
 */
import type { Failure, Forwarded, RefusalCode } from './request.ts';

/** Everything that the verdict may depend on. */
export interface Attempted {
  readonly failure: Failure;
  readonly forwarded: Forwarded;
  /** `Llamastead-Replay: never`. No instance runs tools by itself: a model's `env` can't ask for it. */
  readonly neverReplay: boolean;
  /** Forwardings so far that count, this one included. */
  readonly attempts: number;
  /** Deaths of instances on which this request was alone, this one included. */
  readonly aloneDeaths: number;
  /** It is a suspect that is run alone: one attempt more. */
  readonly suspect: boolean;
  /** The policy allows to continue the text, and a placement may have the same model file. */
  readonly resumable: boolean;
  /** This attempt was to continue text of an earlier one. */
  readonly resuming: boolean;
  /** Less device memory is free than its headroom, where that is known: an unknown server error is taken for a lack of it. */
  readonly vramLow: boolean;
}

export type Verdict =
  /** Once more on the same instance by a new connection; no attempt, no failure. */
  | { readonly do: 'again' }
  /** It was not processed: try again, with back-off, until its deadline. No attempt. */
  | { readonly do: 'wait' }
  /** Another attempt from the start, on another placement. */
  | { readonly do: 'replay' }
  /** Another attempt that continues the text already forwarded. */
  | { readonly do: 'resume' }
  /** The backend's answer is the answer. */
  | { readonly do: 'pass_on' }
  /** `blameless`: the instance is well. */
  | { readonly do: 'fail'; readonly code: RefusalCode; readonly blameless?: true };

interface Row {
  readonly name: string;
  readonly matches: (attempted: Attempted) => boolean;
  readonly verdict: (attempted: Attempted) => Verdict;
}

const REPLAYS = 2;
const CLIENT_STATUS = new Set([400, 403, 404, 413, 415, 422, 501]);

/** The table, in order. "Client gone" is decided before it: nobody waits for a verdict. */
export const REPLAY_TABLE: readonly Row[] = [
  {
    name: 'text that can not be continued, though the instance is well',
    matches: (attempted) => attempted.failure.kind === 'not_resumable' || isRefusedResume(attempted),
    verdict: () => ({ do: 'fail', code: 'failed_after_output', blameless: true }),
  },
  {
    name: "client's fault",
    matches: ({ failure }) => failure.kind === 'http' && isClientFault(failure.status, failure.message),
    verdict: () => ({ do: 'pass_on' }),
  },
  {
    name: 'poison: alone on two instances that died',
    matches: ({ aloneDeaths }) => aloneDeaths >= 2,
    verdict: () => ({ do: 'fail', code: 'poison' }),
  },
  {
    name: 'not processed: refused, or the model is loading',
    matches: ({ failure }) => isUnprocessed(failure),
    verdict: () => ({ do: 'wait' }),
  },
  {
    name: 'another answer of the backend',
    matches: (attempted) => attempted.failure.kind === 'http' && !isBackendFault(attempted),
    verdict: () => ({ do: 'pass_on' }),
  },
  {
    name: 'replay: never',
    matches: ({ neverReplay }) => neverReplay,
    verdict: (attempted) => ({ do: 'fail', code: failedCode(attempted) }),
  },
  {
    name: 'stale reused connection, no byte of the answer',
    matches: ({ failure, forwarded }) => isStale(failure) && forwarded === 'nothing',
    verdict: () => ({ do: 'again' }),
  },
  {
    name: 'no attempt left',
    matches: ({ attempts, suspect }) => attempts >= (suspect ? REPLAYS + 1 : REPLAYS),
    verdict: (attempted) => ({ do: 'fail', code: failedCode(attempted) }),
  },
  {
    name: 'nothing forwarded',
    matches: ({ forwarded }) => forwarded === 'nothing',
    verdict: () => ({ do: 'replay' }),
  },
  {
    name: 'plain text that can be continued',
    matches: ({ forwarded, resumable }) => forwarded === 'content' && resumable,
    verdict: () => ({ do: 'resume' }),
  },
  {
    name: 'failed after output',
    matches: () => true,
    verdict: () => ({ do: 'fail', code: 'failed_after_output' }),
  },
];

/** The verdict of the first row that matches. Total: the last row matches everything. */
export function judge(attempted: Attempted): Verdict {
  for (const row of REPLAY_TABLE) if (row.matches(attempted)) return row.verdict(attempted);
  throw new Error('the replay table has no row for this attempt');
}

/** The instance may have had the request: else its forwarding is no attempt. */
export function wasTaken(failure: Failure): boolean {
  return !isUnprocessed(failure) && !isStale(failure);
}

function isUnprocessed({ kind }: Failure): boolean {
  return kind === 'refused' || kind === 'loading';
}

function isStale(failure: Failure): boolean {
  return failure.kind === 'reset' && failure.reused;
}

/** llama-server answers an image to a text model with 500, though it is the client's fault. */
function isClientFault(status: number, message: string): boolean {
  return CLIENT_STATUS.has(status) || /image input is not supported|exceed_context_size/i.test(message);
}

/** Our key was refused (401), the device failed (`Compute error`), or VRAM is low and the cause unknown. */
function isBackendFault({ failure, vramLow }: Attempted): boolean {
  if (failure.kind !== 'http') return true;
  if (failure.status === 401) return true;
  return failure.status === 500 && (isComputeError(failure.message) || vramLow);
}

/** A server error that names no cause: what it means hangs on the device's memory. */
export function isUnexplained(failure: Failure): boolean {
  if (failure.kind !== 'http' || failure.status !== 500) return false;
  return !isComputeError(failure.message) && !isClientFault(failure.status, failure.message);
}

function isComputeError(message: string): boolean {
  return /compute error/i.test(message);
}

/** The client has text already, so an error answer can't be passed on as the answer. */
function isRefusedResume(attempted: Attempted): boolean {
  const { failure, resuming } = attempted;
  return resuming && failure.kind === 'http' && !isBackendFault(attempted);
}

function failedCode({ forwarded }: Attempted): RefusalCode {
  return forwarded === 'nothing' ? 'backend_failed' : 'failed_after_output';
}
