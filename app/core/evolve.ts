/**
 * The only writer of the state: folds one change or counts one fact. Mutates in place, since the loop owns
 * the state alone; tests clone before and compare after.
 */
import type { Change } from './changes.ts';
import type { FactBody } from './facts.ts';
import { modelFolds } from './fold-models.ts';
import { requestFolds } from './fold-requests.ts';
import type { Folds } from './fold-types.ts';
import type { State } from './state.ts';

/** Counts a fact; its number is given by the event log. */
export function evolveFact(state: State, fact: FactBody, wall: number): void {
  state.version += 1;
  if (fact.type === 'drill_finished') drillFinished(state, fact, wall);
  if (fact.type !== 'failover') return;
  state.counters.failovers += 1;
  if (fact.model !== undefined) {
    state.lastFailover = { at: wall, model: fact.model, reason: fact.reason ?? 'unknown' };
  }
}

function drillFinished(state: State, { model, scenario, verdict }: FactBody, wall: number): void {
  if (model === undefined || scenario === undefined || verdict === undefined) return;
  state.lastDrill = { at: wall, model, scenario, verdict };
}

const FOLDS: Folds = { ...requestFolds, ...modelFolds };

/** Folds a change. Throws only where the core contradicts itself. */
export function evolve(state: State, change: Change): void {
  state.version += 1;
  const fold = FOLDS[change.type] as (state: State, change: Change) => void;
  fold(state, change);
}
