/** Whether a drill may begin: asked before anything is told or touched. Pure. */
import { DRILL_SCENARIOS, type RunScenario } from '../../core/drill.ts';
import { nearest } from '../../core/nearest.ts';
import type { State } from '../../core/state.ts';
import type { Gpu, Model } from '../../core/types.ts';
import { AppError } from '../../errors.ts';
import type { OtherContainer } from '../../ports/drills.ts';
import { type Drilled, inService } from './drilled.ts';
import type { Scenario } from './scenarios.ts';

/** Throws AppError `invalid_request`, or `drill_refused` for the one that only the command line can run. */
export function readScenario(name: string): RunScenario {
  const found = DRILL_SCENARIOS.find((each) => each === name);
  if (found === 'controller-restart') {
    throw new AppError(
      'drill_refused',
      'controller-restart restarts Llamastead itself: run `llamastead drill controller-restart` outside of its container.',
    );
  }
  if (found !== undefined) return found;
  const near = nearest(name.slice(0, 100), DRILL_SCENARIOS);
  const hint = near === null ? `expected one of ${DRILL_SCENARIOS.join(', ')}` : `did you mean ${near}?`;
  throw new AppError('invalid_request', `"scenario" is ${JSON.stringify(name.slice(0, 100))}; ${hint}`);
}

/** Name or alias; null: the only model. Throws AppError `invalid_request`, `unknown_model`, `mode_off`. */
export function readModel(state: State, asked: string | null): Model {
  const models = state.policy?.models ?? new Map<string, Model>();
  const names = [...models.keys()];
  if (asked === null && names.length !== 1) {
    throw new AppError('invalid_request', `"model" is missing; there are: ${names.join(', ') || 'none'}.`);
  }
  const model = models.get(state.names.get(asked ?? names[0] ?? '') ?? '');
  if (model === undefined) {
    const shown = JSON.stringify((asked ?? '').slice(0, 100));
    throw new AppError('unknown_model', `There is no model ${shown}; there are: ${names.join(', ')}.`);
  }
  if (model.mode === 'off') throw new AppError('mode_off', `${model.name} is switched off (mode off).`);
  return model;
}

/** Why the scenario means nothing for this model on this machine; null: it does. */
export function notApplicable(scenario: Scenario, model: Model, drilled: Drilled | null): string | null {
  if (model.task !== 'chat') return `${model.name} is no chat model, and drills chat.`;
  if (drilled === null)
    return `${model.name} has no placement that mode ${model.mode} allows on this machine.`;
  if (scenario.gpuOnly && drilled.gpu === null) return `${model.name} does not run on a GPU here.`;
  if (scenario.fault.kind === 'load_other' && drilled.other === null)
    return `There is no second chat model that is not loaded.`;
  return null;
}

/** Throws AppError `drill_refused`: it would disturb others, or show nothing now. */
export function mayBegin(
  state: State,
  drilled: Drilled,
  others: readonly OtherContainer[],
  mono: number,
): void {
  if (state.shutdown !== null) throw refused('Llamastead is shutting down.');
  const users = others.filter((other) => other.running && drilled.gpu !== null && uses(other, drilled.gpu));
  if (users.length > 0) {
    const names = users.map(({ name }) => name).join(', ');
    throw refused(
      `The GPU is in use by another container (${names}); a drill could disturb it. Stop it first.`,
    );
  }
  if (!inService(state, drilled, mono))
    throw refused(`${drilled.target} of ${drilled.model} is out of service already; wait until it is back.`);
}

export function refused(message: string): AppError {
  return new AppError('drill_refused', message);
}

/** An NVIDIA card is reached by its own devices, any other one by the render nodes. */
function uses({ gpus }: OtherContainer, { kind }: Gpu): boolean {
  if (kind === 'vulkan') return gpus.length > 0;
  return gpus.includes(kind === 'nvidia' ? 'nvidia' : 'dri');
}
