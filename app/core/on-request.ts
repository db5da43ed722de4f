/** Decisions about requests: arrival, the end of an attempt, a client that went. */
import type { Decision } from './changes.ts';
import { hasFreeSlot, type Instance } from './instance.ts';
import { choices } from './placement.ts';
import { reasonOfFailure } from './reason.ts';
import { refusal, refuseRequest } from './refuse.ts';
import { judge } from './replay.ts';
import type { Failure, NewRequest, Outcome, Refusal, Request, RequestId } from './request.ts';
import type { State } from './state.ts';
import { takeOut } from './takeout.ts';
import type { Model, Now, Placement } from './types.ts';

/** First wait after "not processed"; it doubles with each try up to the cap. */
const BACKOFF_MS = 20;
const BACKOFF_MAX_MS = 1_000;
const QUEUE_FULL_RETRY_S = 5;

export function onReceived(out: Decision, state: State, arrived: NewRequest, now: Now): void {
  const found = findModel(state, arrived);
  if ('code' in found) {
    out.effects.push({ type: 'refuse', request: arrived.id, refusal: found });
    return;
  }
  const request = newRequest(state, found, arrived, now);
  const instance = freeInstance(state, found, request, now);
  if (instance === null && queueLength(state, found.name) >= queueDepth(state)) {
    const message = `${queueLength(state, found.name)} requests wait for ${found.name} already; no more are taken.`;
    out.effects.push({
      type: 'refuse',
      request: arrived.id,
      refusal: refusal('queue_full', message, QUEUE_FULL_RETRY_S),
    });
    return;
  }
  out.changes.push({ type: 'request_added', request });
  if (instance === null) wait(out, request, now.mono, false);
  else grant(out, request, instance, now);
}

export function onAbandoned(out: Decision, state: State, id: RequestId, now: Now): void {
  const request = state.requests.get(id);
  if (request === undefined) return;
  if (request.phase.phase === 'running') {
    out.changes.push({ type: 'lease_ended', request: id, at: now.mono, counted: true });
  }
  out.changes.push({ type: 'request_closed', request: id, answered: true });
}

export function onAttemptEnded(out: Decision, state: State, id: RequestId, outcome: Outcome, now: Now): void {
  const request = state.requests.get(id);
  if (request === undefined || request.phase.phase !== 'running') return;
  if (outcome.kind !== 'failed') {
    out.changes.push({ type: 'lease_ended', request: id, at: now.mono, counted: true });
    out.changes.push({ type: 'request_closed', request: id, answered: true });
    return;
  }
  const { instance, placement } = request.phase;
  onFailure(out, state, request, { instance: state.instances.get(instance), placement }, outcome, now);
}

/** Gives it a slot of this instance. The change comes first: effects run after the fold. */
export function grant(
  out: Decision,
  request: Request,
  instance: Instance,
  now: Now,
  freshConnection = false,
): void {
  const again = request.phase.phase === 'running';
  if (!again) {
    out.changes.push({
      type: 'request_granted',
      request: request.id,
      instance: instance.id,
      placement: instance.placement,
      at: now.mono,
      wall: now.wall,
    });
  }
  out.effects.push({
    type: 'grant',
    request: request.id,
    instance: instance.id,
    placement: instance.placement,
    attempt: again ? request.attempts : request.attempts + 1,
    queuedMs: now.mono - request.receivedAt,
    reason: request.lastFailure,
    freshConnection,
  });
}

/** A ready instance with a free slot, of the best placement that has one. */
export function freeInstance(state: State, model: Model, request: Request, now: Now): Instance | null {
  const order = choices(state, model, request.tried, now.mono);
  let best: Instance | null = null;
  let bestRank = order.length;
  for (const instance of state.instances.values()) {
    if (instance.model !== model.name || !hasFreeSlot(instance)) continue;
    const rank = order.indexOf(instance.placement);
    if (rank >= 0 && rank < bestRank) {
      best = instance;
      bestRank = rank;
    }
  }
  return best;
}

function onFailure(
  out: Decision,
  state: State,
  request: Request,
  ran: { readonly instance: Instance | undefined; readonly placement: Placement },
  outcome: Extract<Outcome, { kind: 'failed' }>,
  now: Now,
): void {
  const { instance, placement } = ran;
  const { failure, forwarded } = outcome;
  const alone = instance !== undefined && instance.leases.size === 1 && failure.kind === 'reset';
  const verdict = judge({
    failure,
    forwarded,
    neverReplay: request.neverReplay,
    attempts: request.attempts,
    aloneDeaths: request.aloneDeaths + (alone ? 1 : 0),
    suspect: false,
    resumable: false,
    vramLow: false,
  });
  if (verdict.do === 'again' && instance?.phase.state === 'ready') {
    grant(out, request, instance, now, true);
    return;
  }
  const processed = verdict.do !== 'wait' && verdict.do !== 'again';
  out.changes.push({ type: 'lease_ended', request: request.id, at: now.mono, counted: processed });
  if (verdict.do === 'pass_on') {
    out.changes.push({ type: 'request_closed', request: request.id, answered: true });
    out.effects.push({ type: 'pass_on', request: request.id });
    return;
  }
  if (processed) {
    const reason = reasonOfFailure(failure);
    out.changes.push({ type: 'attempt_failed', request: request.id, placement, failure: reason });
    if (instance !== undefined) takeOut(out, state, instance, reason, now);
  }
  if (verdict.do === 'fail') {
    refuseRequest(out, request, refusal(verdict.code, failedMessage(request, failure), null));
    return;
  }
  if (processed && instance !== undefined) {
    out.changes.push({ type: 'request_moved', request: request.id, from: instance.id, alone });
  } else if (failure.kind === 'refused' && instance !== undefined) {
    out.effects.push({ type: 'examine_instance', instance: instance.id });
  }
  wait(out, request, processed ? 0 : now.mono + backoff(request, now), true, now.mono);
}

function wait(out: Decision, request: Request, notBefore: number, head: boolean, since = notBefore): void {
  out.changes.push({ type: 'request_waits', request: request.id, head, since, notBefore });
}

/** Doubles with the time that the request has been trying. */
function backoff(request: Request, now: Now): number {
  return Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MS, (now.mono - request.receivedAt) / 2));
}

function failedMessage(request: Request, failure: Failure): string {
  const what: Readonly<Record<Failure['kind'], string>> = {
    refused: 'could not be reached',
    loading: 'was still loading',
    reset: 'closed the connection before the answer was whole',
    first_token_deadline: 'did not begin to answer in time',
    stall: 'stopped in the middle of the answer',
    http: failure.kind === 'http' ? `answered ${failure.status}: ${failure.message}` : '',
  };
  const tries = request.attempts > 1 ? ` It was tried ${request.attempts} times.` : '';
  return `The backend of ${request.model} ${what[failure.kind]}.${tries}`;
}

function findModel(state: State, arrived: NewRequest): Model | Refusal {
  const { policy } = state;
  if (policy === null) return refusal('preparing', 'Llamastead is starting.', 2);
  if (state.shutdown !== null) return refusal('capacity', 'Llamastead is shutting down.', 10);
  const name = arrived.model === null ? onlyModel(policy.models) : state.names.get(arrived.model);
  const model = name === undefined ? undefined : policy.models.get(name);
  if (model === undefined) return unknownModel(arrived, [...policy.models.keys()]);
  if (model.mode === 'off') return refusal('mode_off', `${model.name} is switched off (mode off).`);
  return model;
}

function onlyModel(models: ReadonlyMap<string, Model>): string | undefined {
  return models.size === 1 ? [...models.keys()][0] : undefined;
}

function unknownModel(arrived: NewRequest, names: readonly string[]): Refusal {
  const have = names.length === 0 ? 'There is no model yet.' : `There are: ${names.join(', ')}.`;
  if (arrived.model === null) return refusal('invalid_request', `"model" is missing. ${have}`);
  return refusal('unknown_model', `There is no model "${arrived.model.slice(0, 80)}". ${have}`);
}

function newRequest(state: State, model: Model, arrived: NewRequest, now: Now): Request {
  const deadline = arrived.deadlineMs ?? state.policy?.queue.deadlineMs ?? 0;
  return {
    id: arrived.id,
    externalId: arrived.externalId,
    model: model.name,
    path: arrived.path,
    stream: arrived.stream,
    neverReplay: arrived.neverReplay,
    receivedAt: now.mono,
    deadlineAt: now.mono + deadline,
    phase: { phase: 'waiting', since: now.mono, notBefore: 0 },
    attempts: 0,
    tried: new Set(),
    lastFailure: null,
    aloneDeaths: 0,
  };
}

function queueDepth(state: State): number {
  return state.policy?.queue.depth ?? 0;
}

function queueLength(state: State, model: string): number {
  let length = 0;
  for (const id of state.waiting) if (state.requests.get(id)?.model === model) length += 1;
  return length;
}
