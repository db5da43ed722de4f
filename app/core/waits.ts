/** How long things take here, as measured: service times, and from them when it is worth to come again. */
import { allowedPlacements } from './placement.ts';
import { instancesOf, isStandingBy, type State } from './state.ts';
import type { Model, Now, Placement } from './types.ts';

/** Taken for a service or a load that was never measured, ms. */
const UNKNOWN_SERVICE_MS = 5_000;
const UNKNOWN_LOAD_MS = 10_000;
const LEAST_RETRY_S = 1;
const MOST_RETRY_S = 300;

/** Mean time that a slot of this placement is held by one request that was answered, ms. */
export function serviceMs(state: State, model: string, placement: Placement): number {
  return state.models.get(model)?.serviceMs[placement] ?? UNKNOWN_SERVICE_MS;
}

/** Seconds for `Retry-After`: whole, from 1 to 300. */
export function retrySeconds(ms: number): number {
  return Math.min(MOST_RETRY_S, Math.max(LEAST_RETRY_S, Math.ceil(ms / 1000)));
}

/**
 * Expected wait in ms of a request with `ahead` others before it in its model's line:
 *
 *     until an instance is ready + (ahead + 1) / sum over serving instances of (slots / mean service time)
 *
 * Every slot of an instance is given back once a service time on average, so that sum is the rate at which the
 * line moves (Little's law with all slots taken). Without a ready instance the best placement that may be
 * loaded counts, after what is left of its usual load, or after its outage.
 */
export function expectedWaitMs(state: State, model: Model, ahead: number, now: Now): number {
  const serving = instancesOf(state, model.name).filter(
    (one) => one.phase.state === 'ready' && !isStandingBy(state, one),
  );
  let rate = 0;
  for (const { placement, profile } of serving) {
    rate += profile.parallel / serviceMs(state, model.name, placement);
  }
  if (rate > 0) return (ahead + 1) / rate;
  const { placement, ms } = nextReady(state, model, now);
  const slots = model.profiles[placement]?.parallel ?? 1;
  return ms + (ahead * serviceMs(state, model.name, placement)) / slots;
}

/** Usual time of a load, ms. */
export function loadMs(state: State, model: string, placement: Placement): number {
  const seconds = state.models.get(model)?.loadSeconds[placement];
  return seconds === undefined ? UNKNOWN_LOAD_MS : seconds * 1000;
}

/** The placement that will be ready first, and in how many ms; one that is loading counts what is left. */
function nextReady(
  state: State,
  model: Model,
  now: Now,
): { readonly placement: Placement; readonly ms: number } {
  let best: { readonly placement: Placement; readonly ms: number } | null = null;
  for (const placement of allowedPlacements(model)) {
    const ms = readyInMs(state, model.name, placement, now);
    if (best === null || ms < best.ms) best = { placement, ms };
  }
  return best ?? { placement: 'cpu', ms: UNKNOWN_LOAD_MS };
}

/** Expected ms until an instance of this placement is ready; 0 where one is. */
export function readyInMs(state: State, model: string, placement: Placement, now: Now): number {
  const load = loadMs(state, model, placement);
  for (const one of instancesOf(state, model)) {
    if (one.placement !== placement) continue;
    if (one.phase.state === 'ready') return 0;
    if (one.phase.state === 'starting') return Math.max(0, one.phase.since + load - now.mono);
  }
  const retryAt = state.models.get(model)?.outages.get(placement)?.retryAt ?? now.mono;
  return Math.max(0, retryAt - now.mono) + load;
}

/**
 * When memory that a model lacks may be free, ms: the mean service time of the longest running kind of request
 * on another model's instance, since an instance gives way once it is idle; null: no other model holds any.
 */
export function memoryFreeInMs(state: State, model: string): number | null {
  let longest: number | null = null;
  for (const one of state.instances.values()) {
    if (one.model === model) continue;
    const ms = one.leases.size === 0 ? 0 : serviceMs(state, one.model, one.placement);
    longest = Math.max(longest ?? 0, ms);
  }
  return longest;
}

/** When a placement that is out of service is tried again and loaded, ms; null: none is out. */
export function backInMs(state: State, model: Model, now: Now): number | null {
  const outages = state.models.get(model.name)?.outages;
  const out = allowedPlacements(model).filter((placement) => outages?.has(placement));
  if (out.length === 0) return null;
  return Math.min(...out.map((placement) => readyInMs(state, model.name, placement, now)));
}
