/**
 * The only writer of the state: folds one change or counts one fact. Mutates in place, since the loop owns
 * the state alone; tests clone before and compare after.
 */
import type { Change } from './changes.ts';
import type { FactBody } from './facts.ts';
import { checkMove } from './instance.ts';
import type { Request, RequestId } from './request.ts';
import { problemKey, type State } from './state.ts';
import type { Policy } from './types.ts';

type ChangeOf<T extends Change['type']> = Extract<Change, { type: T }>;

/** Counts a fact; its number is given by the event log. */
export function evolveFact(state: State, fact: FactBody, wall: number): void {
  state.version += 1;
  if (fact.type !== 'failover') return;
  state.counters.failovers += 1;
  if (fact.model !== undefined) {
    state.lastFailover = { at: wall, model: fact.model, reason: fact.reason ?? 'unknown' };
  }
}

/** Folds a change. Throws only where the core contradicts itself. */
export function evolve(state: State, change: Change): void {
  state.version += 1;
  const fold = FOLDS[change.type] as (state: State, change: Change) => void;
  fold(state, change);
}

const FOLDS: { readonly [T in Change['type']]: (state: State, change: ChangeOf<T>) => void } = {
  policy_set: (state, { policy }) => setPolicy(state, policy),

  request_added: (state, { request }) => {
    state.requests.set(request.id, request);
    state.counters.requests += 1;
  },
  request_waits: (state, change) => {
    const request = requestOf(state, change.request);
    request.phase = { phase: 'waiting', since: change.since, notBefore: change.notBefore };
    if (change.head) state.waiting.unshift(request.id);
    else state.waiting.push(request.id);
    due(state, request.deadlineAt);
    if (change.notBefore > 0) due(state, change.notBefore);
  },
  request_granted: (state, change) => {
    const request = requestOf(state, change.request);
    leaveQueue(state, request.id);
    const { instance, placement } = change;
    request.phase = { phase: 'running', since: change.at, instance, placement };
    request.attempts += 1;
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
    const instance = state.instances.get(request.phase.instance);
    if (instance) {
      instance.leases.delete(request.id);
      instance.idleSince = change.at;
      // The first free moment starts the idle clock; later ends of leases only move the deadline back.
      if (instance.leases.size === 0) dueForIdle(state, instance.model, change.at);
    }
    if (!change.counted) request.attempts -= 1;
  },
  attempt_failed: (state, change) => {
    const request = requestOf(state, change.request);
    request.tried.add(change.placement);
    request.lastFailure = change.failure;
  },
  request_moved: (state, change) => {
    const instance = instanceOf(state, change.from);
    instance.moved.push(requestOf(state, change.request).externalId);
    if (change.alone) instance.alone = change.request;
  },
  request_convicted: (state, change) => {
    requestOf(state, change.request).aloneDeaths += 1;
  },
  request_closed: (state, change) => {
    leaveQueue(state, change.request);
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
    }
  },
  instance_known: (state, change) => {
    const instance = instanceOf(state, change.instance);
    instance.container = change.container;
    instance.measured = change.measured;
  },
  failover_told: (state, change) => {
    instanceOf(state, change.instance).failoverTold = true;
  },
  instance_gone: (state, change) => {
    state.instances.delete(change.instance);
    state.memoryMovedAt = change.at;
  },

  wanted_set: (state, change) => {
    modelOf(state, change.model).wanted = change.wanted;
  },
  resting_set: (state, change) => {
    modelOf(state, change.model).resting = change.on;
  },
  model_error: (state, change) => {
    modelOf(state, change.model).lastError = change.error;
  },
  load_timed: (state, change) => {
    modelOf(state, change.model).loadSeconds[change.placement] = change.seconds;
  },
  outage_set: (state, change) => {
    modelOf(state, change.model).outages.set(change.outage.placement, change.outage);
    due(state, change.outage.retryAt);
  },
  outage_ended: (state, change) => {
    modelOf(state, change.model).outages.delete(change.placement);
  },

  host_known: (state, change) => {
    state.host = { memory: change.memory, at: change.at };
    state.sampling = false;
  },
  sampling: (state, change) => {
    state.sampling = change.on;
  },
  need_pending: (state, change) => {
    state.needs.set(change.hash, { kind: 'pending' });
  },
  need_known: (state, change) => {
    state.needs.set(change.hash, { kind: 'known', need: change.need });
    for (const instance of state.instances.values()) {
      if (instance.profile.hash === change.hash && instance.need.parts.length === 0)
        instance.need = change.need;
    }
  },
  need_unknown: (state, change) => {
    state.needs.set(change.hash, { kind: 'unknown', problem: change.problem, retryAt: change.retryAt });
    due(state, change.retryAt);
  },
  need_forgotten: (state, change) => {
    state.needs.delete(change.hash);
  },
  limit_raised: (state, change) => {
    state.raisedLimits.add(change.hash);
  },

  engine_set: (state, change) => {
    state.engines.set(change.engine, { observed: change.observed, problem: change.problem });
  },
  problem_set: (state, { problem }) => {
    state.problems.set(problemKey(problem), problem);
  },
  problem_cleared: (state, { key }) => {
    state.problems.delete(key);
  },
  command_added: (state, { command }) => {
    state.commands.set(command.id, command);
  },
  command_done: (state, { id }) => {
    state.commands.delete(id);
  },
  shutdown_set: (state, { shutdown }) => {
    state.shutdown = shutdown;
    due(state, shutdown.deadline);
  },
  due_at: (state, { at }) => due(state, at),
  due_reset: (state, { at }) => {
    state.nextDue = at;
  },
};

function due(state: State, at: number): void {
  if (at < state.nextDue) state.nextDue = at;
}

function dueForIdle(state: State, model: string, from: number): void {
  const limit = state.policy?.models.get(model)?.idleUnloadMs;
  if (limit !== null && limit !== undefined) due(state, from + limit);
}

function leaveQueue(state: State, request: RequestId): void {
  const at = state.waiting.indexOf(request);
  if (at >= 0) state.waiting.splice(at, 1);
}

/** A model that left the policy keeps its state: its instances still drain, and it may come back. */
function setPolicy(state: State, policy: Policy): void {
  state.policy = policy;
  state.names.clear();
  for (const model of policy.models.values()) {
    for (const name of [...model.aliases, model.name]) state.names.set(name, model.name);
    if (!state.models.has(model.name)) state.models.set(model.name, newModelState(model.name));
    // A shorter idle limit must wake the loop; a premature alarm does no harm.
    if (model.idleUnloadMs !== null) due(state, 0);
  }
}

function newModelState(name: string) {
  return {
    name,
    wanted: null,
    resting: false,
    outages: new Map(),
    lastUsed: null,
    lastError: null,
    loadSeconds: {},
  };
}

function requestOf(state: State, id: RequestId): Request {
  const request = state.requests.get(id);
  if (request === undefined) throw new Error(`request ${id} is not known`);
  return request;
}

function instanceOf(state: State, id: string) {
  const instance = state.instances.get(id);
  if (instance === undefined) throw new Error(`instance ${id} is not known`);
  return instance;
}

function modelOf(state: State, name: string) {
  const model = state.models.get(name);
  if (model === undefined) throw new Error(`model ${name} is not known`);
  return model;
}
