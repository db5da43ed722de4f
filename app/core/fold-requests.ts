/** Folds of requests and instances: the queue, leases, attempts, the machine. */

import { MOST_REFUSED } from './blame.ts';
import { due, dueForIdle, dueForLeft } from './fold-due.ts';
import type { Folds } from './fold-types.ts';
import { checkMove, type Instance } from './instance.ts';
import { movingAverage } from './moving-average.ts';
import type { Request, RequestId, RequestPhase } from './request.ts';
import type { State } from './state.ts';

export const requestFolds: Pick<
  Folds,
  | 'request_added'
  | 'request_waits'
  | 'request_granted'
  | 'lease_ended'
  | 'request_sent_again'
  | 'request_continues'
  | 'count_asked'
  | 'prompt_counted'
  | 'attempt_failed'
  | 'request_moved'
  | 'request_slow'
  | 'request_suspected'
  | 'request_blamed'
  | 'request_judged'
  | 'body_known'
  | 'body_refused'
  | 'body_released'
  | 'death_seen'
  | 'request_closed'
  | 'instance_added'
  | 'instance_moved'
  | 'instance_known'
  | 'failover_told'
  | 'instance_gone'
> = {
  request_added: (state, { request }) => {
    state.requests.set(request.id, request);
    state.counters.requests += 1;
  },
  request_waits: (state, change) => {
    const request = requestOf(state, change.request);
    const { since, notBefore, head, deadlineAt } = change;
    request.deadlineAt = deadlineAt;
    request.phase = { phase: 'waiting', since, notBefore, head };
    request.ticket = takeTicket(state);
    state.waiting.push(request.id);
    due(state, request.deadlineAt);
    if (change.notBefore > 0) due(state, change.notBefore);
  },
  request_granted: (state, change) => {
    const request = requestOf(state, change.request);
    leaveQueue(state, request.id);
    toTheEnd(state, request);
    const { instance, placement } = change;
    request.phase = { phase: 'running', since: change.at, instance, placement };
    request.attempts += 1;
    request.sentAgain = false;
    instanceOf(state, change.instance).leases.add(request.id);
    const model = state.models.get(request.model);
    if (model) {
      model.lastUsed = change.wall;
      model.resting = false;
    }
  },
  lease_ended: (state, change) => {
    const request = requestOf(state, change.request);
    if (request.phase.phase !== 'running') throw new Error(`request ${request.id} holds no lease`);
    state.slow.delete(request.id);
    if (change.served) learnService(state, request.model, request.phase, change.at);
    const instance = state.instances.get(request.phase.instance);
    if (instance) {
      instance.leases.delete(request.id);
      instance.idleSince = change.at;
      // The first free moment starts the idle clock; later ends of leases only move the deadline back.
      if (instance.leases.size === 0) dueForIdle(state, instance.model, change.at);
    }
    if (!change.counted) request.attempts -= 1;
  },
  count_asked: (state, change) => {
    requestOf(state, change.request).counting = 'asked';
  },
  prompt_counted: (state, change) => {
    const request = requestOf(state, change.request);
    request.counting = 'done';
    request.tokens = change.tokens ?? request.tokens;
  },
  request_sent_again: (state, change) => {
    requestOf(state, change.request).sentAgain = true;
  },
  request_continues: (state, change) => {
    requestOf(state, change.request).continues = change.continuation;
  },
  attempt_failed: (state, change) => {
    const request = requestOf(state, change.request);
    request.tried.add(change.placement);
    request.lastFailure = change.failure;
  },
  request_moved: (state, change) => {
    instanceOf(state, change.from).moved.push(requestOf(state, change.request).externalId);
  },
  request_slow: (state, { request, on }) => {
    if (on) state.slow.add(request);
    else state.slow.delete(request);
  },
  request_suspected: (state, { request, by }) => {
    requestOf(state, request).suspectOf = by;
    if (by === null) state.suspects.delete(request);
    else state.suspects.add(request);
  },
  request_blamed: (state, change) => {
    requestOf(state, change.request).aloneDeaths += 1;
  },
  request_judged: (state, change) => {
    const request = requestOf(state, change.request);
    const { until, otherwise } = change;
    request.phase = { phase: 'judged', until, otherwise, body: undefined };
    due(state, until);
    state.suspects.delete(request.id);
    state.judged.add(request.id);
  },
  body_known: (state, { request, body }) => {
    const judged = requestOf(state, request);
    if (judged.phase.phase === 'judged') judged.phase = { ...judged.phase, body };
  },
  body_refused: (state, { body, model, until }) => {
    state.refusedBodies.delete(body);
    for (const oldest of state.refusedBodies.keys()) {
      if (state.refusedBodies.size < MOST_REFUSED) break;
      state.refusedBodies.delete(oldest);
    }
    state.refusedBodies.set(body, { model, until });
    due(state, until);
  },
  body_released: (state, { body }) => {
    state.refusedBodies.delete(body);
  },
  request_closed: (state, change) => {
    leaveQueue(state, change.request);
    state.suspects.delete(change.request);
    state.judged.delete(change.request);
    state.requests.delete(change.request);
    if (!change.answered) state.counters.failed += 1;
  },

  instance_added: (state, { instance }) => {
    state.instances.set(instance.id, instance);
    state.nextInstance += 1;
  },
  instance_moved: (state, change) => {
    const instance = instanceOf(state, change.instance);
    checkMove(instance, change.phase.state);
    instance.phase = change.phase;
    if (change.phase.state === 'ready') {
      instance.idleSince = change.phase.since;
      state.memoryMovedAt = change.phase.since;
      dueForIdle(state, instance.model, change.phase.since);
    } else dueForLeft(state, instance.model);
  },
  instance_known: (state, change) => {
    const instance = instanceOf(state, change.instance);
    instance.container = change.container;
    instance.measured = change.measured;
  },
  death_seen: (state, { instance, inFlight }) => {
    instanceOf(state, instance).inFlight = inFlight;
  },
  failover_told: (state, change) => {
    instanceOf(state, change.instance).failoverTold = true;
  },
  instance_gone: (state, change) => {
    state.instances.delete(change.instance);
    state.memoryMovedAt = change.at;
  },
};

function leaveQueue(state: State, request: RequestId): void {
  const at = state.waiting.indexOf(request);
  if (at >= 0) state.waiting.splice(at, 1);
}

/** The client had its turn: what else it has waiting lines up behind those who wait for theirs. */
function toTheEnd(state: State, { client, model }: Request): void {
  if (state.waiting.length === 0) return;
  const ticket = takeTicket(state);
  for (const id of state.waiting) {
    const other = state.requests.get(id);
    if (other?.client === client && other.model === model) other.ticket = ticket;
  }
}

function learnService(
  state: State,
  name: string,
  { placement, since }: Extract<RequestPhase, { phase: 'running' }>,
  at: number,
): void {
  const model = state.models.get(name);
  if (model) model.serviceMs[placement] = movingAverage(model.serviceMs[placement], at - since);
}

function takeTicket(state: State): number {
  const ticket = state.nextTicket;
  state.nextTicket += 1;
  return ticket;
}

function requestOf(state: State, id: RequestId): Request {
  const request = state.requests.get(id);
  if (request === undefined) throw new Error(`request ${id} is not known`);
  return request;
}

function instanceOf(state: State, id: string): Instance {
  const instance = state.instances.get(id);
  if (instance === undefined) throw new Error(`instance ${id} is not known`);
  return instance;
}
