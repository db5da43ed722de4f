/** Watches one round from the side: what the state shows and what the events tell, with times. */
import type { Fact } from '../../core/facts.ts';
import type { InstanceId } from '../../core/request.ts';
import { instancesOf } from '../../core/state.ts';
import type { Placement } from '../../core/types.ts';
import type { DrillParts } from './parts.ts';

export interface Watch {
  /** Facts of the model, in order. */
  readonly facts: readonly Fact[];
  /** Monotonic ms of the first moment at which the placement was seen to fail; null: it was not. */
  failedAt(): number | null;
  /** Monotonic ms of the moment at which it served again after that; null: not yet. */
  backAt(): number | null;
  end(): void;
}

type Watched = Pick<DrillParts, 'state' | 'onTurn' | 'subscribe' | 'clock'>;

/** `target`: the placement that the drill breaks. */
export function watchRound(parts: Watched, model: string, target: Placement): Watch {
  const facts: Fact[] = [];
  let failedAt: number | null = null;
  let backAt: number | null = null;
  const look = (): void => {
    failedAt ??= isFailing(parts, model, target) ? parts.clock.now().mono : null;
    if (failedAt !== null) backAt ??= serving(parts, model, target) === null ? null : parts.clock.now().mono;
  };
  const offTurn = parts.onTurn(look);
  const offFacts = parts.subscribe((fact) => {
    if (fact.model === model) facts.push(fact);
  });
  return {
    facts,
    failedAt: () => failedAt,
    backAt: () => backAt,
    end() {
      offTurn();
      offFacts();
    },
  };
}

/** The instance that serves on this placement, in service; null: there is none. */
export function serving(
  { state }: Pick<DrillParts, 'state'>,
  model: string,
  placement: Placement,
): InstanceId | null {
  if (state.models.get(model)?.outages.has(placement) === true) return null;
  const found = instancesOf(state, model).find(
    (one) => one.placement === placement && one.phase.state === 'ready',
  );
  return found?.id ?? null;
}

function isFailing({ state }: Watched, model: string, placement: Placement): boolean {
  return instancesOf(state, model).some(
    ({ phase, ...one }) =>
      one.placement === placement &&
      (phase.state === 'failed' || (phase.state === 'draining' && phase.why === 'failed')),
  );
}
