/**
 * Answers under an `Idempotency-Key`: one key gets one answer. The first request makes it; the same request
 * again joins it while it runs, from its beginning, or gets it when it is done. Only what could have been acted
 * on is kept: after an error before any content the key is free, and the next request tries again.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../ports.ts';
import { type OwnError, ownError } from '../errors.ts';
import type { Alarms } from '../forward/alarms.ts';
import { sendOwn } from '../forward/answer.ts';
import type { Protocol } from '../forward/protocols.ts';
import type { Wire } from '../forward/wire.ts';
import { answerId, sha256 } from './key.ts';
import { GRACE_MS, LIMITS } from './limits.ts';
import { newReader } from './reader.ts';
import { newRecording, type Recording } from './recording.ts';
import { answerTable, type GoneBecause, type Head, type KeyedAnswer, type Limits } from './table.ts';

export interface KeyedRequest {
  readonly key: string;
  /** Who asks; different callers have keys of their own. */
  readonly caller: string;
  readonly path: string;
  readonly body: Buffer;
  readonly protocol: Protocol;
  readonly requestId: string;
  /** The client chose its id, so it gets it back. */
  readonly namesItself: boolean;
  readonly res: ServerResponse;
}

/** `made`: an answer of its own; `joined`: one that ran; `kept`: one that was done; else it was refused. */
export type KeyedOutcome = 'made' | 'joined' | 'kept' | 'mismatch' | 'gone' | 'no_room';

export interface KeyedAnswers {
  /** Answers from what there is, or calls `begin` with what the answer is to be written to. */
  ask(request: KeyedRequest, begin: (wire: Wire) => void): void;
  /** The controller is to end: what no client takes ends now, and what the last one leaves then. */
  hurry(): void;
}

export interface KeyedOptions {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly limits?: Limits;
  readonly told: (outcome: KeyedOutcome) => void;
}

const NO_ROOM_RETRY_S = 5;

export function keyedAnswers({ clock, alarms, limits = LIMITS, told }: KeyedOptions): KeyedAnswers {
  const table = answerTable(limits);
  const running = new Map<string, { readonly recording: Recording; readonly hurry: () => void }>();
  const expiry = { at: Number.POSITIVE_INFINITY, index: 0, ring: expire };
  alarms.add(expiry);

  function changed(): void {
    expiry.at = table.nextDue() ?? Number.POSITIVE_INFINITY;
    alarms.sooner(expiry);
  }

  function expire(): void {
    table.expire(clock.now().mono);
    changed();
  }

  function begin(request: KeyedRequest, answer: KeyedAnswer, run: (wire: Wire) => void): void {
    const { protocol, requestId, res } = request;
    told('made');
    const last = (code: string, message: string) =>
      protocol.errorEvent(ownError(code, message, requestId, { replayed: true }));
    const recording = newRecording({
      ...{ table, answer, protocol, alarms, clock, changed },
      graceMs: GRACE_MS,
      abandoned: last('failed_after_output', `No client took this answer for ${GRACE_MS / 1000} s.`),
      tooSlow: last('idempotency_gone', gone('too_large', limits)),
      ended: () => void running.delete(answer.id),
    });
    const hurry = () => recording.hurry(last('failed_after_output', 'Llamastead is shutting down.'));
    running.set(answer.id, { recording, hurry });
    recording.attach(res, ({ headers }) => [...headers]);
    run(recording.wire);
  }

  function refuse({ res, protocol }: KeyedRequest, outcome: KeyedOutcome, error: OwnError): void {
    told(outcome);
    sendOwn(res, protocol.errorBody(error), error);
  }

  function join(request: KeyedRequest, answer: KeyedAnswer): void {
    const headFor = (head: Head) => joinedHead(head, request);
    const recording = running.get(answer.id)?.recording;
    told(recording === undefined ? 'kept' : 'joined');
    if (recording !== undefined) {
      recording.attach(request.res, headFor);
      return;
    }
    answer.readers += 1;
    newReader({
      ...{ res: request.res, answer, headFor, alarms, clock },
      onDrain() {},
      onClose() {
        answer.readers -= 1;
        changed();
      },
    });
  }

  return {
    ask(request, run) {
      // Gone before it was read whole: there is nobody to answer.
      if (request.res.closed) return;
      table.expire(clock.now().mono);
      const id = answerId(request.caller, request.path, request.key);
      const bodyHash = sha256(request.body);
      const found = table.find(id, bodyHash);
      if (found.kind === 'here') join(request, found.answer);
      else if (found.kind === 'other_body') refuse(request, 'mismatch', mismatch(request));
      else if (found.kind === 'gone') {
        refuse(request, 'gone', ownError('idempotency_gone', gone(found.why, limits), request.requestId));
      } else {
        const answer = table.open(id, bodyHash);
        if (answer === null) refuse(request, 'no_room', full(request));
        else begin(request, answer, run);
      }
    },
    hurry() {
      for (const { hurry } of [...running.values()]) hurry();
    },
  };
}

/** The head of the answer, with the id of who asks now, and whose answer it gets. */
function joinedHead({ headers }: Head, { requestId, namesItself }: KeyedRequest): string[] {
  const list = [...headers];
  const at = list.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'x-request-id');
  const first = list[at + 1] ?? '';
  if (namesItself && at >= 0) list[at + 1] = requestId;
  list.push('Llamastead-Joined', first);
  return list;
}

function mismatch({ requestId }: KeyedRequest): OwnError {
  const message =
    'This Idempotency-Key was sent before with another body; send the same bytes again, or a new key.';
  return ownError('idempotency_mismatch', message, requestId);
}

function full({ requestId }: KeyedRequest): OwnError {
  const message = 'The answers that run under an Idempotency-Key leave no room for another one.';
  return ownError('capacity', message, requestId, { retryAfter: NO_ROOM_RETRY_S });
}

function gone(why: GoneBecause, { answerBytes, totalBytes }: Limits): string {
  const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  const because =
    why === 'too_large'
      ? `it is larger than the ${mib(answerBytes)} that are kept of one`
      : `all kept answers together may take ${mib(totalBytes)}, and others came`;
  return `The answer for this Idempotency-Key was given once and is not kept: ${because}. A new key makes a new answer.`;
}
