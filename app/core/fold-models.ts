/** Folds of models, memory, engines, commands: what the policy and the parts brought. */

import { givenUpAt } from './engine-away.ts';
import { due } from './fold-due.ts';
import type { Folds } from './fold-types.ts';
import { movingAverage } from './moving-average.ts';
import { problemKey } from './problem.ts';
import { reducedPolicy } from './reduction.ts';
import { NO_STANDBY } from './standby-state.ts';
import type { ModelState, State } from './state.ts';
import type { Policy } from './types.ts';

/** Of profiles that a machine ever had; the oldest go first. */
const MOST_REDUCTIONS = 100;
const MOST_RAISED = 100;

export const modelFolds: Pick<
  Folds,
  | 'policy_set'
  | 'wanted_set'
  | 'resting_set'
  | 'standby_set'
  | 'model_error'
  | 'load_timed'
  | 'speed_learned'
  | 'share_learned'
  | 'length_learned'
  | 'overflow_set'
  | 'outage_set'
  | 'outage_ended'
  | 'start_unanswered'
  | 'reduction_set'
  | 'host_known'
  | 'sampling'
  | 'need_pending'
  | 'need_known'
  | 'need_unknown'
  | 'need_forgotten'
  | 'limit_raised'
  | 'engine_set'
  | 'problem_set'
  | 'problem_cleared'
  | 'command_added'
  | 'command_done'
  | 'shutdown_set'
  | 'drill_set'
  | 'due_at'
  | 'due_reset'
> = {
  policy_set: (state, { policy }) => setPolicy(state, policy),

  wanted_set: (state, change) => {
    modelOf(state, change.model).wanted = change.wanted;
  },
  standby_set: (state, { model, standby }) => {
    const own = modelOf(state, model);
    own.standby = { ...own.standby, ...standby };
    due(state, own.standby.retryAt);
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
  speed_learned: (state, { hash, speed }) => setNewest(state.speeds, hash, speed),
  length_learned: ({ answerTokens }, { model, tokens }) =>
    setNewest(answerTokens, model, movingAverage(answerTokens.get(model), tokens)),
  overflow_set: (state, change) => {
    modelOf(state, change.model).overflow = change.overflow;
    if (change.overflow !== null) due(state, change.overflow.until);
  },
  share_learned: (state, { model: name, placement, share }) => {
    const { readShare } = modelOf(state, name);
    readShare[placement] = movingAverage(readShare[placement], share);
  },
  outage_set: (state, change) => {
    modelOf(state, change.model).outages.set(change.outage.placement, change.outage);
    due(state, change.outage.retryAt);
  },
  outage_ended: (state, { model, placement, recovery }) => {
    const { outages, recovered } = modelOf(state, model);
    outages.delete(placement);
    recovered.set(placement, recovery);
  },
  start_unanswered: (state, { model, placement, since }) => {
    const { unanswered } = modelOf(state, model);
    if (since === null) unanswered.delete(placement);
    else unanswered.set(placement, since);
  },
  reduction_set: (state, { hash, reduction }) => {
    const held = new Map(state.reductions);
    if (reduction === null) held.delete(hash);
    else held.set(hash, reduction);
    for (const oldest of held.keys()) {
      if (held.size <= MOST_REDUCTIONS) break;
      held.delete(oldest);
    }
    state.reductions = held;
    if (state.configured !== null) state.policy = reducedPolicy(state.configured, state.reductions);
  },

  host_known: (state, change) => {
    state.host = { memory: change.memory, at: change.at };
    state.sampling = false;
  },
  sampling: (state, change) => {
    state.sampling = change.on;
  },
  need_pending: (state, change) => {
    const before = state.needs.get(change.hash);
    const problem = before?.kind === 'unknown' ? before.problem : null;
    state.needs.set(change.hash, { kind: 'pending', problem });
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
    state.raisedLimits = new Set([...state.raisedLimits, change.hash].slice(-MOST_RAISED));
  },

  engine_set: (state, { engine, observed, problem, lostAt }) => {
    state.engines.set(engine, { observed, problem, lostAt });
    if (lostAt !== null) due(state, givenUpAt(lostAt));
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
  drill_set: (state, { drill }) => {
    state.drill = drill;
  },
  due_at: (state, { at }) => due(state, at),
  due_reset: (state, { at }) => {
    state.nextDue = at;
  },
};

/** The newest comes last: where only so many are kept, those of what is gone are dropped. */
function setNewest<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

/** A model that left the policy keeps its state: its instances still drain, and it may come back. */
function setPolicy(state: State, policy: Policy): void {
  state.configured = policy;
  state.policy = reducedPolicy(policy, state.reductions);
  state.names.clear();
  for (const model of policy.models.values()) {
    for (const name of [...model.aliases, model.name]) state.names.set(name, model.name);
    if (!state.models.has(model.name)) state.models.set(model.name, newModelState(model.name));
    // A shorter idle limit must wake the loop; a premature alarm does no harm.
    if (model.idleUnloadMs !== null) due(state, 0);
  }
}

function newModelState(name: string): ModelState {
  return {
    name,
    wanted: null,
    resting: false,
    outages: new Map(),
    recovered: new Map(),
    unanswered: new Map(),
    lastUsed: null,
    lastError: null,
    standby: NO_STANDBY,
    loadSeconds: {},
    serviceMs: {},
    readShare: {},
    overflow: null,
  };
}

function modelOf(state: State, name: string): ModelState {
  const model = state.models.get(name);
  if (model === undefined) throw new Error(`model ${name} is not known`);
  return model;
}
