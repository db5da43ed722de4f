/** How a model gets an instance: the best placement that can be had, prepared step by step. */
import { type Fit, fit, hostBytes, memoryIsComingBack, memoryLimitOf, victims } from './admission.ts';
import type { Decision } from './changes.ts';
import { givenUpFor, isExpected } from './engine-away.ts';
import { missGpu } from './gpu-again.ts';
import type { Instance } from './instance.ts';
import { newInstance } from './on-engine.ts';
import { nextOutage } from './outage.ts';
import { instancesOf, type State } from './state.ts';
import type { Model, Need, Now, Placement, Problem, Profile } from './types.ts';
import { stop } from './upkeep.ts';

/** A reading of the host older than this is taken again before a load. */
const HOST_FRESH_MS = 1_000;

export interface Shortage {
  readonly placement: Placement;
  readonly fit: Fit;
}

/** Where a search for an instance stands. `coming`: wait for what is under way (perhaps begun just now). */
export type Pursuit =
  | { readonly kind: 'coming' }
  | { readonly kind: 'none'; readonly shortages: readonly Shortage[]; readonly problems: readonly Problem[] };

/** Whose idle instances may be unloaded to make room. */
export type GiveWay = 'anyone' | 'nobody' | { readonly only: string };

type Preparation =
  | { readonly kind: 'coming' }
  /** Its engine is, and may be back soon. */
  | { readonly kind: 'away' }
  | { readonly kind: 'short'; readonly fit: Fit }
  | { readonly kind: 'impossible'; readonly problem: Problem };

/** Sees to it that the model gets an instance on the first of these placements that can be had. */
export function pursue(
  out: Decision,
  state: State,
  model: Model,
  order: readonly Placement[],
  now: Now,
): Pursuit {
  const shortages: Shortage[] = [];
  const problems: Problem[] = [];
  let isAwaited = false;
  for (const placement of order) {
    const prepared = prepare(out, state, model, placement, 'anyone', now);
    if (prepared.kind === 'coming') {
      for (const shortage of shortages) standAside(out, state, model, shortage, now);
      return { kind: 'coming' };
    }
    if (prepared.kind === 'short') shortages.push({ placement, fit: prepared.fit });
    else if (prepared.kind === 'impossible') problems.push(prepared.problem);
    else isAwaited = true;
  }
  return isAwaited ? { kind: 'coming' } : { kind: 'none', shortages, problems };
}

/** One placement: what is missing for it is begun; when all is there, its instance is started. */
export function prepare(
  out: Decision,
  state: State,
  model: Model,
  placement: Placement,
  giveWay: GiveWay,
  now: Now,
): Preparation {
  const profile = model.profiles[placement];
  if (profile === undefined) return { kind: 'impossible', problem: noProfile(model, placement) };
  if (
    instancesOf(state, model.name).some((one) => one.placement === placement && one.phase.state !== 'stuck')
  ) {
    return { kind: 'coming' };
  }
  const engine = state.engines.get(profile.engine);
  if (engine !== undefined && isExpected(engine, now.mono)) return { kind: 'away' };
  const problem = givenUpFor(engine, now.mono);
  if (problem !== null) return { kind: 'impossible', problem };
  if (engine === undefined || !engine.observed) return { kind: 'coming' };
  const need = needFor(out, state, model, profile);
  if (!('ram' in need)) return need;
  if (!hostIsFresh(state, now)) {
    if (!state.sampling) {
      out.changes.push({ type: 'sampling', on: true });
      out.effects.push({ type: 'sample_host' });
    }
    return { kind: 'coming' };
  }
  return admit(out, state, model, profile, need, giveWay, now);
}

function admit(
  out: Decision,
  state: State,
  model: Model,
  profile: Profile,
  need: Need,
  giveWay: GiveWay,
  now: Now,
): Preparation {
  const verdict = fit(state, profile, need);
  if (verdict === null) return { kind: 'coming' };
  if (verdict.fits) {
    start(out, state, model, profile, need, now);
    return { kind: 'coming' };
  }
  if (memoryIsComingBack(state)) return { kind: 'coming' };
  const leaving =
    giveWay === 'nobody' ? null : victims(state, profile, need, giveWay === 'anyone' ? null : giveWay.only);
  if (leaving === null) return { kind: 'short', fit: verdict };
  for (const victim of leaving) stop(out, victim, 'room', now);
  return { kind: 'coming' };
}

function start(out: Decision, state: State, model: Model, profile: Profile, need: Need, now: Now): void {
  missGpu(out, model);
  const limit = memoryLimitOf(hostBytes(profile, need), state.raisedLimits.has(profile.hash));
  const instance: Instance = newInstance(
    `i${state.nextInstance}`,
    model.name,
    profile,
    need,
    limit,
    now,
    false,
  );
  out.changes.push({ type: 'instance_added', instance });
  out.facts.push({
    type: 'model_loading',
    model: model.name,
    placement: profile.placement,
    engine: profile.engine,
    need: hostBytes(profile, need),
  });
  const promptCache = need.parts.find((part) => part.what === 'prompt_cache')?.bytes ?? 0;
  out.effects.push({
    type: 'start_instance',
    plan: { instance: instance.id, model: model.name, profile, memoryLimit: limit, promptCache },
  });
}

/** The need where it is known; else its estimate is begun, or its problem told. */
function needFor(out: Decision, state: State, model: Model, profile: Profile): Need | Preparation {
  const known = state.needs.get(profile.hash);
  if (known?.kind === 'known') return known.need;
  if (known?.kind === 'unknown') return { kind: 'impossible', problem: known.problem };
  if (known === undefined) estimate(out, model, profile);
  return { kind: 'coming' };
}

export function estimate(out: Decision, model: Model, profile: Profile): void {
  out.changes.push({ type: 'need_pending', hash: profile.hash });
  out.effects.push({ type: 'estimate_need', model: model.name, profile });
}

function hostIsFresh(state: State, now: Now): boolean {
  if (state.host === null) return false;
  return state.host.at >= state.memoryMovedAt && now.mono - state.host.at <= HOST_FRESH_MS;
}

/** A better placement did not fit while another one did: it is tried again later, not at each request. */
function standAside(out: Decision, state: State, model: Model, shortage: Shortage, now: Now): void {
  const { placement } = shortage;
  const before = state.models.get(model.name)?.outages.get(placement);
  const failed = { placement, reason: 'does_not_fit', detail: null } as const;
  const returnAfterMs = state.policy?.failover.returnAfterMs ?? 0;
  out.changes.push({
    type: 'outage_set',
    model: model.name,
    outage: nextOutage(state.models.get(model.name), now, failed, returnAfterMs),
  });
  if (before === undefined) out.facts.push(loadRefused(model.name, shortage));
}

export function loadRefused(model: string, { placement, fit: short }: Shortage) {
  return {
    type: 'load_refused',
    model,
    placement,
    reason: 'does_not_fit',
    need: short.need,
    room: short.room,
  } as const;
}

function noProfile(model: Model, placement: Placement): Problem {
  return {
    code: 'no_placement',
    model: model.name,
    text: `${model.name} cannot run on ${placement} on this machine.`,
    fix: 'Give the model another placement, or add the device.',
  };
}
