/** What is known of a request while it waits, runs, and is answered. */
import type { Answer, KeptError } from './answer.ts';
import type { Attempt } from './attempt.ts';
import type { Call, Shared } from './call.ts';
import type { Grant } from './forwarding.ts';
import type { AnswerFacts } from './headers.ts';

export interface Exchange {
  readonly shared: Shared;
  readonly call: Call;
  readonly answer: Answer;
  readonly streams: boolean;
  stopKeepalive: () => void;
  grant: Grant | null;
  grantedAt: number;
  model: string | null;
  /** Runs now; null while the request waits, and at its end. */
  attempt: Attempt | null;
  /** Error answer of the last attempt, in case it is to be passed on. */
  kept: KeptError | null;
  /** From the grant to the first content. */
  backendMs: number | null;
  over: boolean;
}

/** As the answer's headers tell it. */
export function factsOf({ call, shared, grant, model, backendMs }: Exchange): AnswerFacts {
  return {
    requestId: call.requestId,
    model,
    placement: grant?.placement ?? null,
    attempts: grant?.attempt ?? 0,
    queuedMs: grant?.queuedMs ?? shared.options.clock.now().mono - call.receivedAt,
    backendMs,
  };
}
