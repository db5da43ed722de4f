/** Decisions about a request that arrives: which model it means, and whether it is taken. */
import { refusedBody } from './blame.ts';
import type { Decision } from './changes.ts';
import { freeInstance, grant, wait } from './grant.ts';
import { givesWay } from './queue.ts';
import { refusal, refuseRequest } from './refuse.ts';
import type { NewRequest, Refusal, Request } from './request.ts';
import type { State } from './state.ts';
import type { Model, Now } from './types.ts';
import { expectedWaitMs, retrySeconds } from './waits.ts';

/** `body`: hash of its body where bodies are refused just now. */
export function onReceived(
  out: Decision,
  state: State,
  arrived: NewRequest,
  body: string | null,
  now: Now,
): void {
  const found = refusedBody(state, body, now) ?? findModel(state, arrived);
  if ('code' in found) {
    out.effects.push({ type: 'refuse', request: arrived.id, refusal: found });
    return;
  }
  const request = newRequest(state, found, arrived, now);
  const instance = freeInstance(state, found, request, now);
  if (instance === null && !request.drill && queueLength(state, found.name) >= queueDepth(state)) {
    const yielding = givesWay(state, request, now);
    if (yielding === null) {
      out.effects.push({ type: 'refuse', request: arrived.id, refusal: queueFull(state, found, now) });
      return;
    }
    refuseRequest(out, yielding, queueFull(state, found, now));
  }
  out.changes.push({ type: 'request_added', request });
  if (instance === null) wait(out, request, now.mono, false);
  else grant(out, request, instance, now);
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
  const patienceMs = arrived.deadlineMs ?? state.policy?.queue.deadlineMs ?? 0;
  return {
    id: arrived.id,
    externalId: arrived.externalId,
    model: model.name,
    path: arrived.path,
    stream: arrived.stream,
    neverReplay: arrived.neverReplay,
    client: arrived.client,
    background: arrived.background,
    drill: arrived.drill ?? false,
    promptBytes: arrived.promptBytes,
    tokens: null,
    counting: 'no',
    receivedAt: now.mono,
    patienceMs,
    deadlineAt: now.mono + patienceMs,
    ownDeadline: arrived.deadlineMs !== null,
    ticket: 0,
    phase: { phase: 'waiting', since: now.mono, notBefore: 0, head: false },
    attempts: 0,
    tried: new Set(),
    lastFailure: null,
    sentAgain: false,
    continues: null,
    aloneDeaths: 0,
    suspectOf: null,
  };
}

function queueFull(state: State, model: Model, now: Now): Refusal {
  const length = queueLength(state, model.name);
  const message = `${length} requests wait for ${model.name} already; no more are taken (queue.depth).`;
  return refusal('queue_full', message, retrySeconds(expectedWaitMs(state, model, length, now)));
}

function queueDepth(state: State): number {
  return state.policy?.queue.depth ?? 0;
}

/** A drill's few requests stand beside the line: they take nobody's place. */
function queueLength(state: State, model: string): number {
  let length = 0;
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request?.model === model && !request.drill) length += 1;
  }
  return length;
}
