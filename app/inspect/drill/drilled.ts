/** The model that a drill works on, as it stands at its begin. */

import { allowedPlacements, breaker } from '../../core/placement.ts';
import type { State } from '../../core/state.ts';
import type { Gpu, Model, Placement } from '../../core/types.ts';
import type { DrillLimits } from './parts.ts';

export interface Drilled {
  readonly model: string;
  /** Where it would run now: the placement that is broken. */
  readonly target: Placement;
  /** Where its requests go then; null: it has no other placement. */
  readonly fallback: Placement | null;
  readonly gpu: Gpu | null;
  /** Tokens per request. */
  readonly context: number;
  readonly slots: number;
  /** A model that could be asked for beside it; null: there is none that is not loaded. */
  readonly other: string | null;
  /** How long the way back may take, ms. */
  readonly recoveryMs: number;
}

/** Null: it has no placement at all that may be used. */
export function drilledModel(state: State, model: Model, limits: DrillLimits): Drilled | null {
  const [target, fallback] = allowedPlacements(model);
  const profile = target && model.profiles[target];
  if (target === undefined || profile === undefined) return null;
  return {
    model: model.name,
    target,
    fallback: fallback ?? null,
    gpu: profile.gpu,
    context: profile.context,
    slots: profile.parallel,
    other: otherModel(state, model),
    recoveryMs: limits.recovery + 2 * (state.policy?.failover.returnAfterMs ?? 0),
  };
}

/** Whether the placement is in service: a drill on a broken one would show nothing. */
export function inService(state: State, { model, target }: Drilled, mono: number): boolean {
  return breaker(state.models.get(model)?.outages.get(target), mono) === 'closed';
}

function otherModel(state: State, model: Model): string | null {
  for (const other of state.policy?.models.values() ?? []) {
    if (other.name === model.name || other.task !== 'chat' || allowedPlacements(other).length === 0) continue;
    if (![...state.instances.values()].some((one) => one.model === other.name)) return other.name;
  }
  return null;
}
