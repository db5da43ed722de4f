/** What becomes of instances by themselves: idle ones go, drained ones are removed, failovers are told. */
import { hostBytes } from './admission.ts';
import type { Decision } from './changes.ts';
import { drain } from './drain.ts';
import { isDrilled } from './drill.ts';
import { about, type Instance, type UnloadWhy } from './instance.ts';
import { allowedPlacements, profileOf } from './placement.ts';
import { slotContext } from './prompt.ts';
import { remove } from './removal.ts';
import { instancesOf, isAwaited, isExpected, isKeptWarm, isStandingBy, type State } from './state.ts';
import { tellFailover } from './takeout.ts';
import type { Now } from './types.ts';

export function upkeep(out: Decision, state: State, now: Now): void {
  for (const instance of state.instances.values()) {
    const { phase } = instance;
    if (phase.state === 'ready' || phase.state === 'starting') misfit(out, state, instance, now);
    if (instance.leases.size > 0) continue;
    if (phase.state === 'draining') finishDrain(out, instance, phase.why, phase.reason, now);
    else if (phase.state === 'failed' && phase.examined)
      tellFailover(out, state, instance, phase.reason, now);
  }
}

/** Idle limits, and placements that a better one made superfluous. */
export function unloadIdle(out: Decision, state: State, now: Now): void {
  for (const instance of state.instances.values()) {
    if (instance.phase.state !== 'ready' || instance.leases.size > 0) continue;
    if (isAwaited(state, instance.model)) continue;
    if (idleIsOver(state, instance, now) && !isDrilled(state, instance.model))
      stop(out, instance, 'idle', now);
    else if (isSuperseded(state, instance)) stop(out, instance, 'recovered', now);
  }
}

/** Begins the removal of an instance without leases. */
export function stop(out: Decision, instance: Instance, why: UnloadWhy, now: Now): void {
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'stopping', since: now.mono, why },
  });
  out.facts.push({
    type: 'model_unloading',
    ...about(instance),
    why,
    bytes: hostBytes(instance.profile, instance.need),
  });
  remove(out, instance, 'gentle', false);
}

/** When an idle instance is due to go; null: never. */
export function idleDue(state: State, instance: Instance): number | null {
  const model = state.policy?.models.get(instance.model);
  if (model === undefined || model.keepLoaded || model.idleUnloadMs === null) return null;
  if (instance.phase.state !== 'ready' || instance.leases.size > 0) return null;
  // A warm standby goes with what it stands by for, not by its own idleness.
  if (isStandingBy(state, instance)) return null;
  return instance.idleSince + model.idleUnloadMs;
}

/** The mode no longer allows it, or it was made from another definition. */
function misfit(out: Decision, state: State, instance: Instance, now: Now): void {
  const model = state.policy?.models.get(instance.model);
  const wanted = profileOf(state, instance.model, instance.placement);
  if (model === undefined || wanted?.hash !== instance.profile.hash) drain(out, instance, 'config', now);
  else if (!allowedPlacements(model).includes(instance.placement)) drain(out, instance, 'mode', now);
}

function finishDrain(
  out: Decision,
  instance: Instance,
  why: UnloadWhy,
  reason: Extract<Instance['phase'], { state: 'draining' }>['reason'],
  now: Now,
): void {
  if (why !== 'failed') {
    stop(out, instance, why, now);
    return;
  }
  const phase = { state: 'failed', since: now.mono, reason: reason ?? 'unknown', examined: false } as const;
  out.changes.push({ type: 'instance_moved', instance: instance.id, phase });
  out.effects.push({ type: 'close_connections', instance: instance.id });
  remove(out, instance, 'kill', true);
}

function idleIsOver(state: State, instance: Instance, now: Now): boolean {
  const due = idleDue(state, instance);
  return due !== null && due <= now.mono;
}

/** A better placement is ready, this one takes no longer prompts than it, and is not kept warm. */
function isSuperseded(state: State, instance: Instance): boolean {
  const model = state.policy?.models.get(instance.model);
  if (model === undefined) return false;
  if (instance.placement === 'cpu' && isKeptWarm(state, model.name)) return false;
  if (isExpected(state, model.name)) return false;
  const order = allowedPlacements(model);
  const own = order.indexOf(instance.placement);
  return instancesOf(state, instance.model).some(
    (other) =>
      other.phase.state === 'ready' &&
      order.indexOf(other.placement) < own &&
      slotContext(other.profile) >= slotContext(instance.profile),
  );
}
