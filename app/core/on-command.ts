/** Decisions about what people ask: load, unload, restart, and a new policy from file or settings. */

import { definitionChanged, deviceCame } from './cause-gone.ts';
import type { Decision } from './changes.ts';
import type { ErrorCode } from './codes.ts';
import { drain } from './drain.ts';
import type { NewFact } from './facts.ts';
import { missGpu } from './gpu-again.ts';
import type { Input } from './inputs.ts';
import type { Instance } from './instance.ts';
import { allowedPlacements } from './placement.ts';
import { problemKey } from './problem.ts';
import { restore } from './reduction.ts';
import type { Command, CommandResult, SettingChange } from './request.ts';
import { followModes, replaceStandIns } from './stand-in.ts';
import { instancesOf, type PendingCommand, type State } from './state.ts';
import { MODES, type Model, type Now } from './types.ts';

export function onCommand(out: Decision, state: State, id: number, command: Command, now: Now): void {
  const model = state.policy?.models.get(state.names.get(command.model) ?? '');
  if (model === undefined) {
    answer(out, id, failed('unknown_model', `There is no model "${command.model.slice(0, 80)}".`));
    return;
  }
  const refused = refusedLoad(model, command);
  if (refused !== null) {
    missGpu(out, model);
    answer(out, id, refused);
    return;
  }
  const present = instancesOf(state, model.name);
  const leaving = new Set(command.do === 'load' ? [] : present.map(({ id: instance }) => instance));
  out.changes.push({
    type: 'command_added',
    command: { id, command: { ...command, model: model.name }, since: now.mono, leaving },
  });
  out.changes.push({ type: 'resting_set', model: model.name, on: command.do === 'unload' });
  const wanted = command.do === 'unload' ? null : { since: now.mono, tried: new Set<never>() };
  out.changes.push({ type: 'wanted_set', model: model.name, wanted });
  if (command.do === 'restart') restore(out, state, model.name);
  if (command.do !== 'load') for (const instance of present) drain(out, instance, 'command', now);
}

/** The result of a command as the state shows it; null: not yet. */
export function commandResult(state: State, pending: PendingCommand): CommandResult | null {
  const { command } = pending;
  const model = state.models.get(command.model);
  if (model === undefined || !state.policy?.models.has(command.model))
    return failed('unknown_model', command.model);
  const instances = instancesOf(state, command.model);
  const leaving = instances.filter((instance) => pending.leaving.has(instance.id));
  // What does not go away is no reason to wait for ever.
  const isDone = leaving.every((instance) => instance.phase.state === 'stuck');
  if (command.do === 'unload') {
    if (leaving.length === 0 || model.wanted !== null) return { ok: true };
    return isDone ? failed('unload_failed', stuckMessage(leaving)) : null;
  }
  if (!isDone) return null;
  if (instances.some((instance) => instance.phase.state === 'ready')) return { ok: true };
  if (model.wanted !== null || instances.some((instance) => instance.phase.state === 'starting')) return null;
  return failed('load_failed', model.lastError ?? 'It could not be loaded.');
}

function stuckMessage(stuck: readonly Instance[]): string {
  const details = stuck.map(({ phase }) => (phase.state === 'stuck' ? phase.detail : ''));
  return `Its container does not go away, so its memory counts as taken: ${details.join('; ')}.`;
}

export function onConfigured(
  out: Decision,
  state: State,
  input: Extract<Input, { type: 'configured' }>,
  now: Now,
): void {
  definitionChanged(out, state, input.policy, now);
  const came = input.gpus ?? [];
  if (came.length > 0) replaceStandIns(out, state, input.policy, now);
  for (const { engine, name } of came) {
    deviceCame(out, state, input.policy, engine, now);
    out.facts.push({ type: 'gpu_back', engine, detail: name });
  }
  followModes(out, state, input.policy, now);
  out.changes.push({ type: 'policy_set', policy: input.policy });
  // Files may be there now: what could not be read is read again.
  for (const [hash, need] of state.needs) {
    if (need.kind !== 'unknown') continue;
    out.changes.push({ type: 'need_forgotten', hash });
    out.changes.push({ type: 'problem_cleared', key: problemKey(need.problem) });
  }
  if (input.why === 'reload') out.facts.push({ type: 'config_reloaded' });
  for (const change of input.settings ?? []) out.facts.push(factOf(change));
}

function factOf({ key, model, from, to, source }: SettingChange): NewFact {
  const of = model === undefined ? {} : { model };
  const mode = MODES.find((each) => each === to);
  if (model !== undefined && mode !== undefined && key === `models.${model}.mode`) {
    return { type: 'mode_changed', ...of, mode, from, source };
  }
  return { type: 'setting_changed', ...of, key, from, value: to, source };
}

/** Why a load or a restart cannot be done; null: it can, or it is neither. */
function refusedLoad(model: Model, command: Command): CommandResult | null {
  if (command.do === 'unload') return null;
  if (model.mode === 'off') return failed('mode_off', `${model.name} is switched off (mode off).`);
  if (allowedPlacements(model).length > 0) return null;
  return failed('capacity', `${model.name} has no placement that mode ${model.mode} allows on this machine.`);
}

function answer(out: Decision, id: number, result: CommandResult): void {
  out.effects.push({ type: 'answer_command', id, result });
}

function failed(code: ErrorCode, message: string): CommandResult {
  return { ok: false, code, message };
}
