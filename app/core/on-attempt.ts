/** Decisions about the end of an attempt, and about a client that went. */
import { deathOf, EVIDENCE_MS, seeDeath } from './blame.ts';
import type { Decision } from './changes.ts';
import { continuationOf } from './continuation.ts';
import { isDeviceLow, tellsMemory } from './device-memory.ts';
import { grant, wait } from './grant.ts';
import type { AttemptEnded } from './inputs.ts';
import type { Instance } from './instance.ts';
import { learn } from './learning.ts';
import { reasonOfFailure } from './reason.ts';
import { refusal, refuseRequest } from './refuse.ts';
import { isUnexplained, judge } from './replay.ts';
import type { Failure, Forwarded, Outcome, Refusal, Request, RequestId } from './request.ts';
import { isCutOff } from './shutdown.ts';
import type { State } from './state.ts';
import { takeOut } from './takeout.ts';
import { onOverflow } from './too-long.ts';
import type { Now, Placement } from './types.ts';

/** First wait after "not processed"; it doubles with each try up to the cap. */
const BACKOFF_MS = 20;
const BACKOFF_MAX_MS = 1_000;

export function onAbandoned(out: Decision, state: State, id: RequestId, now: Now): void {
  const request = state.requests.get(id);
  if (request === undefined) return;
  // Its verdict is still open; it is of use even where nobody hears it.
  if (request.phase.phase === 'judged') return;
  if (request.phase.phase === 'running') {
    out.changes.push({ type: 'lease_ended', request: id, at: now.mono, counted: true, served: false });
  }
  out.changes.push({ type: 'request_closed', request: id, answered: true });
}

export function onAttemptEnded(out: Decision, state: State, ended: AttemptEnded, now: Now): void {
  const { request: id, outcome, timings } = ended;
  const request = state.requests.get(id);
  if (request === undefined || request.phase.phase !== 'running') return;
  const ran = { instance: state.instances.get(request.phase.instance), placement: request.phase.placement };
  if (isToBeSampled(state, ran.instance, ended)) {
    out.effects.push({ type: 'sample_for_verdict', attempt: ended });
    return;
  }
  // What a drill asks is tiny and special: it says nothing about others' requests.
  if (timings && ran.instance && !request.drill) learn(out, state, ran.instance, timings);
  if (outcome.kind !== 'failed') {
    const served = outcome.kind === 'completed' && !request.drill;
    out.changes.push({ type: 'lease_ended', request: id, at: now.mono, counted: true, served });
    if (outcome.kind === 'deadline') refuseRequest(out, request, refusal('deadline', lateMessage(request)));
    else out.changes.push({ type: 'request_closed', request: id, answered: true });
    return;
  }
  onFailure(out, state, request, ran, outcome, now);
}

/** Its verdict hangs on how much memory its device has free just now: only this request waits for the reading. */
function isToBeSampled(
  state: State,
  instance: Instance | undefined,
  { outcome, sampled }: AttemptEnded,
): boolean {
  if (sampled || outcome.kind !== 'failed' || !isUnexplained(outcome.failure)) return false;
  return instance !== undefined && tellsMemory(state, instance);
}

/** Where an attempt ran; the instance may be gone by now. */
interface Ran {
  readonly instance: Instance | undefined;
  readonly placement: Placement;
}

function onFailure(
  out: Decision,
  state: State,
  request: Request,
  ran: Ran,
  outcome: Extract<Outcome, { kind: 'failed' }>,
  now: Now,
): void {
  const { instance, placement } = ran;
  if (onOverflow(out, state, request, outcome, now)) return;
  const { forwarded } = outcome;
  const failure = afterStale(request, instance, outcome.failure);
  const death = deathOf(state, request, instance, failure);
  const continuation = continuationOf(state, request, instance, now);
  const verdict = judge({
    failure,
    forwarded,
    neverReplay: request.neverReplay,
    attempts: request.attempts,
    aloneDeaths: death.aloneDeaths,
    suspect: death.suspect,
    resumable: continuation !== null,
    resuming: request.continues !== null,
    vramLow: instance !== undefined && isDeviceLow(state, instance, now),
  });
  if (verdict.do === 'again' && instance !== undefined) {
    out.changes.push({ type: 'request_sent_again', request: request.id });
    grant(out, request, instance, now, true);
    return;
  }
  const processed = verdict.do !== 'wait' && verdict.do !== 'again';
  out.changes.push({
    type: 'lease_ended',
    request: request.id,
    at: now.mono,
    counted: processed,
    served: false,
  });
  if (verdict.do === 'pass_on') {
    out.changes.push({ type: 'request_closed', request: request.id, answered: true });
    out.effects.push({ type: 'pass_on', request: request.id });
    return;
  }
  const blameless = (verdict.do === 'fail' && verdict.blameless) || isCutOff(state, failure);
  const blamed = processed && !blameless;
  if (blamed) {
    const reason = reasonOfFailure(failure);
    out.changes.push({ type: 'attempt_failed', request: request.id, placement, failure: reason });
    if (instance !== undefined && failure.kind === 'reset') seeDeath(out, state, instance);
    if (instance !== undefined) takeOut(out, state, instance, reason, now);
  }
  if (verdict.do === 'fail') {
    fail(out, request, refusal(verdict.code, failedMessage(request, failure)), forwarded, now);
    return;
  }
  if (verdict.do === 'resume' && continuation !== null) {
    out.changes.push({ type: 'request_continues', request: request.id, continuation });
  }
  if (processed && instance !== undefined) {
    out.changes.push({ type: 'request_moved', request: request.id, from: instance.id });
    if (death.suspect && request.suspectOf === null) {
      out.changes.push({ type: 'request_suspected', request: request.id, by: instance.id });
    }
  } else if (failure.kind === 'refused' && instance !== undefined) {
    out.effects.push({ type: 'examine_instance', instance: instance.id });
  }
  const deadlineAt = processed ? deadlineAfter(request, forwarded, now) : request.deadlineAt;
  wait(out, request, processed ? 0 : now.mono + backoff(request, now), true, now.mono, deadlineAt);
}

/** Running was no wait, so it may wait anew; but until the first content the client's own time goes on. */
function deadlineAfter(request: Request, forwarded: Forwarded, now: Now): number {
  const { ownDeadline, deadlineAt, patienceMs } = request;
  return ownDeadline && forwarded === 'nothing' ? deadlineAt : now.mono + patienceMs;
}

/** Ends it; a poisoned one when Docker's evidence has shown that the instances died of it. */
function fail(out: Decision, request: Request, refused: Refusal, forwarded: Forwarded, now: Now): void {
  if (refused.code !== 'poison') {
    refuseRequest(out, request, refused);
    return;
  }
  const code = forwarded === 'nothing' ? 'backend_failed' : 'failed_after_output';
  out.changes.push({
    type: 'request_judged',
    request: request.id,
    until: now.mono + EVIDENCE_MS,
    otherwise: { ...refused, code },
  });
  out.effects.push({ type: 'identify_body', request: request.id });
}

/**
 * A stale connection looks like one that broke because its instance died. If the new connection is refused, or
 * the instance is known to be dead, it was the latter, and the request may have been processed.
 */
function afterStale(request: Request, instance: Instance | undefined, failure: Failure): Failure {
  const died: Failure = { kind: 'reset', reused: false };
  if (failure.kind === 'refused') return request.sentAgain ? died : failure;
  if (failure.kind !== 'reset' || instance?.phase.state === 'ready') return failure;
  return instance?.phase.state === 'draining' && instance.phase.reason === null ? failure : died;
}

/** Doubles with the time that the request has been trying. */
function backoff(request: Request, now: Now): number {
  return Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MS, (now.mono - request.receivedAt) / 2));
}

function lateMessage({ model, patienceMs }: Request): string {
  return `${model} gave no content within the deadline of ${patienceMs} ms.`;
}

function failedMessage(request: Request, failure: Failure): string {
  const what: Readonly<Record<Failure['kind'], string>> = {
    refused: 'could not be reached',
    loading: 'was still loading',
    reset: 'closed the connection before the answer was whole',
    first_token_deadline: 'did not begin to answer in time',
    stall: 'stopped in the middle of the answer',
    frozen: 'froze, and gave no sign of life',
    http: failure.kind === 'http' ? `answered ${failure.status}: ${failure.message}` : '',
    not_resumable: failure.kind === 'not_resumable' ? `can't go on with the text so far: ${failure.why}` : '',
  };
  const tries = request.attempts > 1 ? ` It was tried ${request.attempts} times.` : '';
  return `The backend of ${request.model} ${what[failure.kind]}.${tries}`;
}
