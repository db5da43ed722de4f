/**
 * After the GPU ran out of memory while it answered, its profile comes back smaller: first with fewer requests
 * at once, then with less context, until a person sets it back (restart) or changes the configuration.
 */
import type { Decision } from './changes.ts';
import { isDrilled } from './drill.ts';
import type { Instance } from './instance.ts';
import type { State } from './state.ts';
import type { Model, Now, Policy, Problem, Profile, Reason } from './types.ts';
import type { ModelView } from './view.ts';

/** What a profile is cut down to, by the hash of the profile as configured. */
export interface Reduction {
  readonly parallel: number;
  readonly context: number;
  /** Unix ms. */
  readonly since: number;
}

/** Less is of no use to a home's assistant: its instructions and tools alone are thousands of tokens. */
export const LEAST_CONTEXT = 2_048;
/** Context is cut to whole pages of llama.cpp's cache. */
const CONTEXT_STEP = 256;

/** One step down: half the slots, then half the context; null: it cannot get smaller. */
export function smaller({ parallel, context }: Pick<Profile, 'parallel' | 'context'>) {
  if (parallel > 1) return { parallel: Math.floor(parallel / 2), context };
  const half = Math.floor(context / 2 / CONTEXT_STEP) * CONTEXT_STEP;
  const next = Math.max(half, LEAST_CONTEXT);
  return next < context ? { parallel, context: next } : null;
}

/** The policy as it holds with these reductions; those of profiles that it no longer has do not count. */
export function reducedPolicy(configured: Policy, reductions: ReadonlyMap<string, Reduction>): Policy {
  if (reductions.size === 0) return configured;
  const models = new Map([...configured.models].map(([name, model]) => [name, reduced(model, reductions)]));
  return { ...configured, models };
}

function reduced(model: Model, reductions: ReadonlyMap<string, Reduction>): Model {
  const profiles = Object.entries(model.profiles).map(([placement, profile]) => {
    const reduction = reductions.get(profile.hash);
    return [placement, reduction === undefined ? profile : cut(profile, reduction)];
  });
  return { ...model, profiles: Object.fromEntries(profiles) };
}

/** Never more than is configured. The hash tells a container of it from one of the whole profile. */
function cut(profile: Profile, reduction: Reduction): Profile {
  const parallel = Math.min(profile.parallel, reduction.parallel);
  const context = Math.min(profile.context, reduction.context);
  const { hash: wholeHash } = profile;
  return { ...profile, parallel, context, hash: `${wholeHash}-${parallel}x${context}`, wholeHash };
}

/** A reduction that holds, with the profile as configured. */
export interface Held {
  readonly model: string;
  readonly configured: Profile;
  readonly reduction: Reduction;
}

export function heldReductions(state: State, of: string | null = null): Held[] {
  const held: Held[] = [];
  if (state.reductions.size === 0) return held;
  for (const model of state.configured?.models.values() ?? []) {
    if (of !== null && model.name !== of) continue;
    for (const configured of Object.values(model.profiles)) {
      const reduction = state.reductions.get(configured.hash);
      if (reduction !== undefined) held.push({ model: model.name, configured, reduction });
    }
  }
  return held;
}

/** An instance that had served died for want of device memory: the next one takes less. */
export function reduce(out: Decision, state: State, instance: Instance, reason: Reason, now: Now): void {
  if (reason !== 'out_of_memory' || instance.placement === 'cpu') return;
  if (isDrilled(state, instance.model)) return;
  const configured = state.configured?.models.get(instance.model)?.profiles[instance.placement];
  const present = state.policy?.models.get(instance.model)?.profiles[instance.placement];
  // One that was made from another definition says nothing about the present one.
  if (configured === undefined || present?.hash !== instance.profile.hash) return;
  const next = smaller(present);
  if (next === null) return;
  const reduction = { ...next, since: now.wall };
  out.changes.push({ type: 'reduction_set', hash: configured.hash, reduction });
  tellChange(out, instance.model, present, next, 'out_of_memory');
}

/** Back to what is configured, for all placements of the model. */
export function restore(out: Decision, state: State, model: string): void {
  for (const { configured, reduction } of heldReductions(state, model)) {
    out.changes.push({ type: 'reduction_set', hash: configured.hash, reduction: null });
    tellChange(out, model, { ...configured, ...reduction }, configured, null);
  }
}

function tellChange(
  out: Decision,
  model: string,
  before: Pick<Profile, 'placement' | 'engine' | 'parallel' | 'context'>,
  after: Pick<Profile, 'parallel' | 'context'>,
  reason: Reason | null,
): void {
  const { placement, engine } = before;
  for (const key of ['parallel', 'context'] as const) {
    if (before[key] === after[key]) continue;
    out.facts.push({
      type: 'setting_changed',
      model,
      placement,
      engine,
      key: `models.${model}.${placement}.${key}`,
      from: before[key],
      value: after[key],
      ...(reason === null ? {} : { reason }),
    });
  }
}

/** What the page says about each, for as long as it holds. */
export function reductionProblems(state: State): Problem[] {
  return heldReductions(state).map(({ model, configured, reduction }) => ({
    code: 'reduced',
    model,
    text: `${model} ran out of GPU memory while it answered. It now takes ${reduction.parallel} request(s) at once with ${reduction.context} tokens each there; configured are ${configured.parallel} with ${configured.context}.`,
    fix: `Restart ${model} to go back to the configured values. If it happens again, lower parallel or context, use LLAMA_ARG_CACHE_TYPE_K and _V q8_0, or free GPU memory.`,
    params: {
      parallel: reduction.parallel,
      context: reduction.context,
      configuredParallel: configured.parallel,
      configuredContext: configured.context,
    },
  }));
}

export function reducedView(
  state: State,
  model: string,
  iso: (wall: number) => string,
): ModelView['reduced'] {
  const [held] = heldReductions(state, model);
  if (held === undefined) return null;
  const { configured, reduction } = held;
  return {
    placement: configured.placement,
    parallel: reduction.parallel,
    context: reduction.context,
    configured: { parallel: configured.parallel, context: configured.context },
    since: iso(reduction.since),
  };
}
