/** Folds that wake the loop: something comes due. */
import { instancesOf, type State } from './state.ts';

export function due(state: State, at: number): void {
  if (at < state.nextDue) state.nextDue = at;
}

export function dueForIdle(state: State, model: string, from: number): void {
  const limit = state.policy?.models.get(model)?.idleUnloadMs;
  if (limit !== null && limit !== undefined) due(state, from + limit);
}

/** What stood by for an instance that went counts as idle from now on. */
export function dueForLeft(state: State, model: string): void {
  for (const one of instancesOf(state, model)) {
    if (one.phase.state === 'ready') dueForIdle(state, model, one.idleSince);
  }
}
