/**
 * A drill: a deliberate failure of one model with a report. The core knows which model it runs on, so that
 * nobody else's request meets the failure and nothing is learned from it.
 */
import type { Request } from './request.ts';
import type { State } from './state.ts';

/** Those that the controller runs itself. */
export const RUN_SCENARIOS = [
  'kill',
  'oom-load',
  'oom-runtime',
  'long-prompt',
  'second-model',
  'hang',
  'gpu-gone',
  'cancel',
  'concurrent',
  'tools',
  'image',
] as const;

/** The controller cannot watch its own restart: only the command line runs that one. */
export const DRILL_SCENARIOS = [...RUN_SCENARIOS, 'controller-restart'] as const;

export type RunScenario = (typeof RUN_SCENARIOS)[number];
export type DrillScenario = (typeof DRILL_SCENARIOS)[number];

/** The request header by which a drill's own requests are known; its value is the mark of the drill that runs. */
export const DRILL_HEADER = 'llamastead-drill';

/** `not_applicable`: it could not be shown on this machine; never a disguised success. */
export const DRILL_VERDICTS = ['passed', 'failed', 'not_applicable'] as const;
export type DrillVerdict = (typeof DRILL_VERDICTS)[number];

export interface Drill {
  readonly id: string;
  readonly scenario: DrillScenario;
  readonly model: string;
  /** Monotonic ms. */
  readonly since: number;
  /** Requests that are not the drill's own wait: the failure is about to be made. */
  readonly exclusive: boolean;
}

/** How the last drill ended; `at`: wall ms. */
export interface LastDrill {
  readonly at: number;
  readonly model: string;
  readonly scenario: DrillScenario;
  readonly verdict: DrillVerdict;
}

/** Whether what happens to this model now is a drill's doing: it convicts nobody and teaches nothing. */
export function isDrilled(state: State, model: string): boolean {
  return state.drill?.model === model;
}

/** Whether a request has to wait until the drill's failure was made. */
export function waitsForDrill(state: State, request: Pick<Request, 'model' | 'drill'>): boolean {
  return !request.drill && state.drill !== null && state.drill.exclusive && isDrilled(state, request.model);
}
