/** What is known of a request while it waits, runs, and is answered. */
import type { Forwarded } from '../../../core/request.ts';
import type { Answer, KeptError } from './answer.ts';
import type { Attempt } from './attempt.ts';
import type { Call, Shared } from './call.ts';
import type { Grant } from './forwarding.ts';
import type { AnswerFacts } from './headers.ts';
import { keepalive } from './keepalive.ts';
import type { Transcript } from './resume/transcript.ts';

export interface Exchange {
  readonly shared: Shared;
  readonly call: Call;
  readonly answer: Answer;
  readonly streams: boolean;
  /** What the client has of a text that could be continued; null: its answer is not one. */
  readonly transcript: Transcript | null;
  /** By all attempts so far. */
  forwarded: Forwarded;
  /** Null: no comments are sent now. */
  stopKeepalive: (() => void) | null;
  grant: Grant | null;
  grantedAt: number;
  model: string | null;
  /** Runs now; null while the request waits, and at its end. */
  attempt: Attempt | null;
  /** Error answer of the last attempt, in case it is to be passed on. */
  kept: KeptError | null;
  /** From the grant to the first content. */
  backendMs: number | null;
  /** Where its client was told that the answer comes from, by the head or a comment since; null: there is no head. */
  told: Pick<AnswerFacts, 'placement' | 'attempts'> | null;
  over: boolean;
}

/** A stream sends comments from now on, until `hush`. */
export function beat(x: Exchange): void {
  if (!x.streams || x.stopKeepalive !== null) return;
  const { shared, call, answer } = x;
  const { clock } = shared.options;
  x.stopKeepalive = keepalive(clock, shared.alarms, call.settings.keepaliveMs, () => answer.comment(sign(x)));
}

export function hush(x: Exchange): void {
  x.stopKeepalive?.();
  x.stopKeepalive = null;
}

/** What a silent stream says of itself: its place in the line, or that it is alive. */
function sign({ attempt, shared, call }: Exchange): string {
  const position = attempt === null ? shared.options.gate.position(call.id) : null;
  return position === null ? 'keepalive' : `llamastead queue position=${position}`;
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
