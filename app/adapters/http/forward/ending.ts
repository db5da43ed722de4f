/** How a request ends: answered, failed, refused, left; each once, told to the gate and to the metrics. */
import { wasTaken } from '../../../core/replay.ts';
import type { Forwarded, Refusal } from '../../../core/request.ts';
import type { Timings } from '../../../core/speed.ts';
import { ownError } from '../errors.ts';
import type { AttemptEnd } from './attempt.ts';
import { beat, type Exchange, factsOf, hush } from './exchange-state.ts';
import type { RequestMeasurement } from './options.ts';
import type { Missed } from './watch.ts';

export function ended(x: Exchange, end: AttemptEnd): void {
  const { gate, log } = x.shared.options;
  x.attempt = null;
  if (end.kind === 'completed') {
    measure(x, end.timings);
    finish(x, 'completed');
    gate.attemptEnded(x.call.id, { kind: 'completed' }, end.timings);
    return;
  }
  x.kept = end.kept;
  const { placement, attempt } = x.grant ?? {};
  const { failure } = end;
  if (placement !== undefined && x.model !== null && wasTaken(failure)) {
    x.shared.options.metrics.attemptFailed({ model: x.model, placement });
  }
  x.forwarded = forwardedSoFar(x, end);
  const { forwarded } = x;
  // It may take a while until another instance has it.
  if (forwarded !== 'more') beat(x);
  log.debug(
    { requestId: x.call.requestId, model: x.model, placement, attempt, failure, forwarded },
    'attempt failed',
  );
  gate.attemptEnded(x.call.id, { kind: 'failed', failure, forwarded });
}

/** `content` only where the text can be told again to another instance. */
function forwardedSoFar(
  { transcript, forwarded: before }: Exchange,
  { forwarded, finished }: Extract<AttemptEnd, { kind: 'failed' }>,
): Forwarded {
  if (before === 'nothing' && forwarded === 'nothing') return 'nothing';
  if (before === 'more' || forwarded === 'more' || finished) return 'more';
  return transcript === null || transcript.text() === null ? 'more' : 'content';
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
  shared.options.metrics.attempt(measurement);
}

/** The one end of a request; false where it has ended before. */
function finish(x: Exchange, outcome: RequestMeasurement['outcome']): boolean {
  if (x.over) return false;
  x.over = true;
  x.attempt = null;
  hush(x);
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

export function clientGone(x: Exchange): void {
  if (x.over) return;
  const { attempt, shared, call } = x;
  const finished = attempt?.finished() ?? false;
  const timings = finished ? (attempt?.timings() ?? null) : null;
  if (finished) measure(x, timings);
  finish(x, finished ? 'completed' : 'client_gone');
  attempt?.cancel();
  if (attempt === null) shared.options.gate.abandoned(call.id);
  else shared.options.gate.attemptEnded(call.id, { kind: 'client_gone', finished }, timings);
}

export function refused(x: Exchange, { code, message, retryAfter, overflow }: Refusal): void {
  const { attempt, call, grant } = x;
  if (!finish(x, code === 'deadline' ? 'deadline' : 'failed')) return;
  attempt?.cancel();
  const replayed = (grant?.attempt ?? 0) > 1;
  x.shared.options.log.debug({ requestId: call.requestId, code }, `refused: ${message}`);
  x.answer.fail(ownError(code, message, call.requestId, { retryAfter, replayed, overflow }));
}

export function passOn(x: Exchange): void {
  const { kept, call, answer } = x;
  if (!finish(x, 'failed')) return;
  if (kept !== null) answer.pass(kept);
  else answer.fail(ownError('backend_failed', 'The instance gave no answer.', call.requestId));
}

export function missed(x: Exchange, what: Missed): void {
  if (what === 'reader') x.call.res.destroy();
  else if (what === 'half_way') x.shared.options.gate.slow(x.call.id);
  else if (what !== 'client_deadline') x.attempt?.miss(what);
  else {
    x.attempt?.cancel();
    x.attempt = null;
    x.shared.options.gate.attemptEnded(x.call.id, { kind: 'deadline' });
  }
}
