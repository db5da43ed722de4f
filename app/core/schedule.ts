/**
 * What follows from the state by itself. The loop asks `settle` after each input until nothing is left to
 * decide; each rule sees the state with all earlier decisions folded.
 */
import { endJudged } from './blame.ts';
import { type Decision, isEmpty, noDecision } from './changes.ts';
import { isDrilled, waitsForDrill } from './drill.ts';
import { giveUp, giveUpWish } from './give-up.ts';
import { freeInstance, grant } from './grant.ts';
import { hasFreeSlot } from './instance.ts';
import { commandResult } from './on-command.ts';
import { nextOutage } from './outage.ts';
import { perModel } from './per-model.ts';
import { allowedPlacements, breaker, choices } from './placement.ts';
import { queueOrder } from './queue.ts';
import { refusal, refuseRequest } from './refuse.ts';
import type { Refusal, Request } from './request.ts';
import { shutDown } from './shutdown.ts';
import { standIn } from './stand-in.ts';
import { keepStandby, startAhead } from './standby.ts';
import { estimate, prepare, pursue } from './starts.ts';
import { instancesOf, isAwaited, type ModelState, type State } from './state.ts';
import { suitedChoices, takesUsual, usualPlacement } from './suited.ts';
import { countPrompts, endTooLong, forgetTooLong } from './too-long.ts';
import type { Model, Now } from './types.ts';
import { unloadIdle, upkeep } from './upkeep.ts';

type Rule = (out: Decision, state: State, now: Now) => void;

const RULES: readonly Rule[] = [
  upkeep,
  shutDown,
  endWaits,
  endJudged,
  endTooLong,
  forgetTooLong,
  grantWaiting,
  countPrompts,
  fillNeeds,
  startForRequests,
  startForWishes,
  startAhead,
  standIn,
  returnToService,
  keepStandby,
  unloadIdle,
  answerCommands,
];

/** The first rule that has something to decide decides; an empty decision: the state is settled. */
export function settle(state: State, now: Now): Decision {
  const out = noDecision();
  if (state.policy === null) return out;
  for (const rule of RULES) {
    rule(out, state, now);
    if (!isEmpty(out)) return out;
  }
  return out;
}

/** Waits that are over: at the deadline, or since the model is gone or switched off. */
function endWaits(out: Decision, state: State, now: Now): void {
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request === undefined) continue;
    const model = state.policy?.models.get(request.model);
    const refused = model === undefined ? gone(request) : endOfWait(request, model, now);
    if (refused === null) continue;
    refuseRequest(out, request, refused);
    return;
  }
}

function grantWaiting(out: Decision, state: State, now: Now): void {
  if (state.waiting.length === 0) return;
  for (const name of modelsWithRoom(state)) {
    const model = state.policy?.models.get(name);
    if (model === undefined) continue;
    for (const request of queueOrder(state, model.name, now)) {
      if (request.phase.phase !== 'waiting' || request.phase.notBefore > now.mono) continue;
      const instance = freeInstance(state, model, request, now);
      if (instance === null) continue;
      grant(out, request, instance, now);
      return;
    }
  }
}

function modelsWithRoom(state: State): ReadonlySet<string> {
  const names = new Set<string>();
  for (const instance of state.instances.values()) if (hasFreeSlot(instance)) names.add(instance.model);
  return names;
}

/** Memory needs are estimated ahead, so that a failover finds its numbers ready. */
function fillNeeds(out: Decision, state: State, now: Now): void {
  for (const model of state.policy?.models.values() ?? []) {
    for (const profile of Object.values(model.profiles)) {
      const need = state.needs.get(profile.hash);
      if (need === undefined || (need.kind === 'unknown' && need.retryAt <= now.mono))
        estimate(out, model, profile);
    }
  }
}

function startForRequests(out: Decision, state: State, now: Now): void {
  const usualOf = perModel((model) => usualPlacement(state, model, now));
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    const model = request && state.policy?.models.get(request.model);
    if (request === undefined || model === undefined || waitsForDrill(state, request)) continue;
    // Most requests wait for a slot of what is there: they need no search of their own.
    const usual = usualOf(model);
    if (request.counting === 'asked' || (usual !== null && takesUsual(request, model, usual))) continue;
    const pursuit = pursue(out, state, model, suitedChoices(state, model, request, now), now);
    if (pursuit.kind === 'none') giveUp(out, state, model, request, pursuit, now);
    if (!isEmpty(out)) return;
  }
}

/** Loads that a command or `keepLoaded` asks for. */
function startForWishes(out: Decision, state: State, now: Now): void {
  if (state.shutdown !== null) return;
  for (const model of state.policy?.models.values() ?? []) {
    const own = state.models.get(model.name);
    if (own === undefined) continue;
    const kept = model.keepLoaded && model.mode !== 'off' && !own.resting;
    if (own.wanted === null && !kept) continue;
    if (instancesOf(state, model.name).some((one) => one.phase.state !== 'stuck')) continue;
    const tried = own.wanted?.tried ?? new Set();
    const wish = { tried, continues: null };
    const order = choices(state, model, wish, now.mono).filter((placement) => !tried.has(placement));
    const pursuit = pursue(out, state, model, order, now);
    if (pursuit.kind === 'none') giveUpWish(out, state, model, own, pursuit, now);
    if (!isEmpty(out)) return;
  }
}

/** Half-open: after its time one probe starts by itself, without waiting for a request. */
function returnToService(out: Decision, state: State, now: Now): void {
  if (state.shutdown !== null) return;
  for (const model of state.policy?.models.values() ?? []) {
    const own = state.models.get(model.name);
    if (own === undefined || own.outages.size === 0) continue;
    if (own.resting || !isInUse(state, model, own, now)) continue;
    for (const placement of allowedPlacements(model)) {
      const outage = own.outages.get(placement);
      if (outage === undefined || breaker(outage, now.mono) !== 'half_open') continue;
      const prepared = prepare(out, state, model, placement, { only: model.name }, now);
      if (prepared.kind === 'short') {
        const failed = { placement, reason: outage.reason, detail: outage.detail };
        const longer = nextOutage(own, now, failed, state.policy?.failover.returnAfterMs ?? 0);
        out.changes.push({ type: 'outage_set', model: model.name, outage: longer });
      }
      if (!isEmpty(out)) return;
    }
  }
}

function answerCommands(out: Decision, state: State): void {
  for (const pending of state.commands.values()) {
    const result = commandResult(state, pending);
    if (result === null) continue;
    out.changes.push({ type: 'command_done', id: pending.id });
    out.effects.push({ type: 'answer_command', id: pending.id, result });
  }
}

/** Loaded, wished for, waited for, or used within its idle limit: worth bringing back. */
function isInUse(state: State, model: Model, own: ModelState, now: Now): boolean {
  if (model.keepLoaded || own.wanted !== null || isDrilled(state, model.name)) return true;
  if (instancesOf(state, model.name).some((one) => one.phase.state === 'ready')) return true;
  if (isAwaited(state, model.name)) return true;
  if (own.lastUsed === null) return false;
  return model.idleUnloadMs === null || now.wall - own.lastUsed < model.idleUnloadMs;
}

function endOfWait(request: Request, model: Model, now: Now): Refusal | null {
  if (model.mode === 'off') return refusal('mode_off', `${model.name} was switched off (mode off).`);
  if (now.mono < request.deadlineAt) return null;
  const seconds = Math.round((now.mono - request.receivedAt) / 1000);
  return refusal('deadline', `${model.name} could not take the request within ${seconds} s.`);
}

function gone(request: Request): Refusal {
  return refusal('unknown_model', `${request.model} was removed from the configuration.`);
}
