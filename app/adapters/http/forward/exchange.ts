/**
 * One request from its body to its end: asks the gate, forwards when granted, reports how it ended, obeys
 * what comes next. All policy is on the other side of the gate.
 */
import type { Refusal } from '../../../core/request.ts';
import type { Waiter } from '../../../ports.ts';
import { ownError } from '../errors.ts';
import { type Answer, answerTo, type KeptError } from './answer.ts';
import type { Attempt, AttemptEnd } from './attempt.ts';
import type { Call, Shared } from './call.ts';
import { type Forwarding, type Grant, prepare } from './forwarding.ts';
import type { AnswerFacts } from './headers.ts';
import { keepalive } from './keepalive.ts';
import type { RequestMeasurement } from './options.ts';
import type { Timings } from './timings.ts';
import type { Missed } from './watch.ts';

interface Exchange {
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

/** Runs the request; returns at once. */
export function exchange(shared: Shared, call: Call): void {
  const x: Exchange = {
    shared,
    call,
    answer: answerTo(call.res, call.protocol, {
      facts: () => factsOf(x),
      drained: () => x.attempt?.resume(),
    }),
    streams: call.fields.stream && call.protocol.judge !== null,
    stopKeepalive: () => {},
    grant: null,
    grantedAt: 0,
    model: null,
    attempt: null,
    kept: null,
    backendMs: null,
    over: false,
  };
  if (x.streams) {
    const { alarms, options } = shared;
    const beat = () => x.answer.comment('keepalive');
    x.stopKeepalive = keepalive(options.clock, alarms, call.settings.keepaliveMs, beat);
  }
  const box: Box = { x };
  call.res.on('close', () => {
    clientGone(x);
    box.x = null;
  });
  shared.options.gate.request(newRequest(call), waiter(box));
}

/**
 * Empty when the request is over: the gate keeps waiters in a Map, and V8 links the old tables of a Map that
 * churns, so that what a waiter holds would live until the next full collection.
 */
interface Box {
  x: Exchange | null;
}

function waiter(box: Box): Waiter {
  return {
    granted(grant) {
      if (box.x !== null) granted(box.x, grant);
    },
    refused(refusal) {
      if (box.x !== null) refused(box.x, refusal);
    },
    passOn() {
      if (box.x !== null) passOn(box.x);
    },
  };
}

function newRequest({ id, requestId, path, fields, neverReplay, deadlineMs }: Call) {
  const { model, stream } = fields;
  return { id, externalId: requestId, model, path, stream, neverReplay, deadlineMs };
}

function factsOf({ call, shared, grant, model, backendMs }: Exchange): AnswerFacts {
  return {
    requestId: call.requestId,
    model,
    placement: grant?.placement ?? null,
    attempts: grant?.attempt ?? 0,
    queuedMs: grant?.queuedMs ?? shared.options.clock.now().mono - call.receivedAt,
    backendMs,
  };
}

function granted(x: Exchange, grant: Grant): void {
  const { shared, call, answer } = x;
  const { gate, clock } = shared.options;
  if (x.over) {
    gate.attemptEnded(call.id, { kind: 'client_gone', finished: false });
    return;
  }
  x.grant = grant;
  x.grantedAt = clock.now().mono;
  x.kept = null;
  x.backendMs = null;
  const taken = shared.connections.take(grant.instance, grant.freshConnection);
  if (taken === undefined) {
    gate.attemptEnded(call.id, { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' });
    return;
  }
  x.model = taken.model;
  if (answer.headSent() && grant.attempt > 1) answer.comment(changedPlacement(grant));
  const forwarding: Forwarding = {
    shared,
    call,
    answer,
    streams: x.streams,
    grant,
    taken,
    missed: (what) => missed(x, what),
    begun() {
      x.backendMs = clock.now().mono - x.grantedAt;
      x.stopKeepalive();
    },
    ended: (end) => ended(x, end),
  };
  x.attempt = prepare(forwarding);
  x.attempt.send();
}

function changedPlacement({ attempt, placement, reason }: Grant): string {
  const why = reason === null ? '' : ` reason=${reason.replaceAll(/[^\w-]/g, '_')}`;
  return `llamastead attempt=${attempt} placement=${placement}${why}`;
}

function ended(x: Exchange, end: AttemptEnd): void {
  const { gate } = x.shared.options;
  x.attempt = null;
  if (end.kind === 'completed') {
    measure(x, end.timings);
    finish(x, 'completed');
    gate.attemptEnded(x.call.id, { kind: 'completed' });
    return;
  }
  x.kept = end.kept;
  gate.attemptEnded(x.call.id, { kind: 'failed', failure: end.failure, forwarded: end.forwarded });
}

function measure({ shared, streams, grant, model, backendMs }: Exchange, timings: Timings | null): void {
  if (grant === null || model === null) return;
  const measurement = {
    model,
    placement: grant.placement,
    firstTokenMs: streams ? backendMs : null,
    promptTokens: timings?.promptTokens ?? null,
    promptMs: timings?.promptMs ?? null,
    tokens: timings?.tokens ?? null,
    tokensMs: timings?.tokensMs ?? null,
  };
  if (timings !== null) shared.speeds.learn(measurement);
  shared.options.metrics.attempt(measurement);
}

/** The one end of a request; false where it has ended before. */
function finish(x: Exchange, outcome: RequestMeasurement['outcome']): boolean {
  if (x.over) return false;
  x.over = true;
  x.attempt = null;
  x.stopKeepalive();
  const { model, placement, attempts, queuedMs } = factsOf(x);
  x.shared.options.metrics.request({
    model: model ?? '',
    placement: placement ?? 'none',
    outcome,
    attempts,
    queuedMs,
  });
  return true;
}

function clientGone(x: Exchange): void {
  if (x.over) return;
  const { attempt, shared, call } = x;
  const finished = attempt?.finished() ?? false;
  finish(x, finished ? 'completed' : 'client_gone');
  attempt?.cancel();
  if (attempt === null) shared.options.gate.abandoned(call.id);
  else shared.options.gate.attemptEnded(call.id, { kind: 'client_gone', finished });
}

function refused(
  x: Exchange,
  { code, message, retryAfter }: Pick<Refusal, 'message' | 'retryAfter'> & { code: string },
): void {
  const { attempt, call, grant } = x;
  if (!finish(x, 'failed')) return;
  attempt?.cancel();
  const replayed = (grant?.attempt ?? 0) > 1;
  x.answer.fail(ownError(code, message, call.requestId, { retryAfter, replayed }));
}

function passOn(x: Exchange): void {
  const { kept, call, answer } = x;
  if (!finish(x, 'failed')) return;
  if (kept !== null) answer.pass(kept);
  else answer.fail(ownError('backend_failed', 'The instance gave no answer.', call.requestId));
}

/**
 * The client's own deadline is nobody's fault: the instance is not blamed for it, and nobody waits for
 * another attempt.
 */
function missed(x: Exchange, what: Missed): void {
  if (what === 'reader') x.call.res.destroy();
  else if (what !== 'client_deadline') x.attempt?.miss(what);
  else {
    const message = `No content within the deadline of ${x.call.deadlineMs ?? 0} ms.`;
    refused(x, { code: 'deadline', message, retryAfter: null });
    x.shared.options.gate.attemptEnded(x.call.id, { kind: 'client_gone', finished: false });
  }
}
