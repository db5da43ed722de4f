/** Folds that wake the loop: something comes due. */
import type { State } from './state.ts';

export function due(state: State, at: number): void {
  if (at < state.nextDue) state.nextDue = at;
}

export function dueForIdle(state: State, model: string, from: number): void {
  const limit = state.policy?.models.get(model)?.idleUnloadMs;
  if (limit !== null && limit !== undefined) due(state, from + limit);
}
