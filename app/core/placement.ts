/** Which placements a model may take now, and in which order a request should try them. */
import type { Continuation } from './request.ts';
import type { Outage, State } from './state.ts';
import { instancesOf } from './state.ts';
import type { Model, Placement, Profile } from './types.ts';

/** Placements that the mode allows and that can be built on this machine, preferred first. */
export function allowedPlacements(model: Model): Placement[] {
  return model.placements.filter((placement) => {
    if (model.profiles[placement] === undefined) return false;
    if (model.mode === 'off') return false;
    if (model.mode === 'gpu') return placement !== 'cpu';
    return model.mode === 'auto' || placement === 'cpu';
  });
}

/** `closed`: in service; `open`: not before `retryAt`; `half_open`: one probe may try it. */
export function breaker(outage: Outage | undefined, mono: number): 'closed' | 'open' | 'half_open' {
  if (outage === undefined) return 'closed';
  return mono < outage.retryAt ? 'open' : 'half_open';
}

/** What somebody asks of a placement. */
export interface Wish {
  /** Placements that failed it. */
  readonly tried: ReadonlySet<Placement>;
  readonly continues: Continuation | null;
}

/** Allowed placements that are in service or may be probed, preferred first. */
export function inService(state: State, model: Model, mono: number): Placement[] {
  const outages = state.models.get(model.name)?.outages;
  return allowedPlacements(model).filter((p) => breaker(outages?.get(p), mono) !== 'open');
}

/**
 * Placements to try now, best first. A placement on probation (half-open) gives way to any other one that
 * is ready: requests do not wait for a probe. Those that were tried come last: they failed this very request.
 */
export function choices(state: State, model: Model, { tried, continues }: Wish, mono: number): Placement[] {
  const outages = state.models.get(model.name)?.outages;
  const file = continues?.file ?? null;
  const open = inService(state, model, mono).filter((p) => file === null || model.profiles[p]?.file === file);
  const serving = new Set<Placement>();
  for (const instance of instancesOf(state, model.name)) {
    if (instance.phase.state === 'ready') serving.add(instance.placement);
  }
  const rank = (placement: Placement): number => {
    const late = tried.has(placement) ? 2 : 0;
    const onProbation = breaker(outages?.get(placement), mono) === 'half_open' && !serving.has(placement);
    return late + (onProbation && serving.size > 0 ? 1 : 0);
  };
  return open.sort((a, b) => rank(a) - rank(b));
}

/** The earliest moment at which an allowed placement that is out of service is tried again; Infinity: none is. */
export function nextRetry(state: State, model: Model): number {
  let earliest = Number.POSITIVE_INFINITY;
  for (const placement of allowedPlacements(model)) {
    const outage = state.models.get(model.name)?.outages.get(placement);
    if (outage !== undefined && outage.retryAt < earliest) earliest = outage.retryAt;
  }
  return earliest;
}

export function profileOf(state: State, model: string, placement: Placement): Profile | undefined {
  return state.policy?.models.get(model)?.profiles[placement];
}
