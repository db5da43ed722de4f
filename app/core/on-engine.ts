/** Decisions about what an engine shows: reachable or not, and which containers of ours it holds. */
import { deviceCame } from './cause-gone.ts';
import type { Decision } from './changes.ts';
import { givenUpAt } from './engine-away.ts';
import type { ObservedContainer } from './inputs.ts';
import type { Instance } from './instance.ts';
import { profileOf } from './placement.ts';
import { problemKey } from './problem.ts';
import { remove } from './removal.ts';
import type { InstanceId } from './request.ts';
import type { State } from './state.ts';
import type { Need, Now, Problem } from './types.ts';

/** Until it is measured or estimated, an adopted instance counts nothing beyond what the host shows. */
const UNKNOWN_NEED: Need = { ram: 0, mapped: 0, vram: {}, parts: [] };

export function onReachable(out: Decision, state: State, engine: string, now: Now): void {
  const before = state.engines.get(engine);
  if (before?.problem) {
    out.changes.push({ type: 'problem_cleared', key: problemKey(before.problem) });
    deviceCame(out, state, state.policy, engine, now);
  }
  const observed = before?.observed ?? false;
  out.changes.push({ type: 'engine_set', engine, observed, problem: null, lostAt: null });
}

/** What troubled the engine before is what troubles it now: a Docker that ends goes through several states. */
export function onUnreachable(out: Decision, state: State, engine: string, problem: Problem, now: Now): void {
  const known = state.engines.get(engine);
  const before = known?.problem ?? null;
  if (before !== null) out.changes.push({ type: 'problem_cleared', key: problemKey(before) });
  out.changes.push({ type: 'problem_set', problem });
  const wasThere = known !== undefined && before === null;
  const lostAt = known?.lostAt ?? (wasThere ? now.mono : null);
  out.changes.push({ type: 'engine_set', engine, observed: false, problem, lostAt });
}

/**
 * A start could not reach it, and nothing else told so yet: nothing is begun there until it is observed again. That is
 * none of the placement's failures, since the engine may just be restarted. Where none of its starts is answered for as
 * long as an engine is waited for, it may be what the engine chokes on: a GPU that hangs, say.
 */
export function onStartUnanswered(
  out: Decision,
  state: State,
  { model, placement, profile: { engine }, createdAt }: Instance,
  now: Now,
): 'forgiven' | 'failure' {
  const known = state.engines.get(engine);
  const lostAt = known?.lostAt ?? now.mono;
  out.changes.push({ type: 'engine_set', engine, observed: false, problem: known?.problem ?? null, lostAt });
  const first = state.models.get(model)?.unanswered.get(placement) ?? createdAt;
  const isOver = now.mono >= givenUpAt(first);
  out.changes.push({ type: 'start_unanswered', model, placement, since: isOver ? null : first });
  return isOver ? 'failure' : 'forgiven';
}

export function onStartAnswered(out: Decision, state: State, { model, placement }: Instance): void {
  if (!state.models.get(model)?.unanswered.has(placement)) return;
  out.changes.push({ type: 'start_unanswered', model, placement, since: null });
}

/** The sure truth: adopts what a former run left, removes leftovers, and finds instances that vanished. */
export function onObserved(
  out: Decision,
  state: State,
  engine: string,
  containers: readonly ObservedContainer[],
  now: Now,
): void {
  out.changes.push({ type: 'engine_set', engine, observed: true, problem: null, lostAt: null });
  const listed = new Set<InstanceId>();
  const running = new Set<InstanceId>();
  const adopted = new Set<string>();
  let next = state.nextInstance;
  for (const observed of containers) {
    if (observed.instance !== null) {
      listed.add(observed.instance);
      if (observed.running) running.add(observed.instance);
      continue;
    }
    const instance = adoptable(state, observed, adopted, `i${next}`, now);
    if (instance === null) {
      out.effects.push({ type: 'remove_container', engine, container: observed.container });
      continue;
    }
    next += 1;
    adopted.add(`${observed.model}/${observed.placement}`);
    out.changes.push({ type: 'instance_added', instance });
    const { id, profile, model } = instance;
    out.effects.push({ type: 'adopt_instance', instance: id, container: observed.container, profile, model });
  }
  for (const instance of state.instances.values()) {
    if (instance.profile.engine !== engine) continue;
    if (!running.has(instance.id)) vanished(out, instance);
    if (instance.phase.state !== 'stuck') continue;
    // Docker may have been away while it was to go.
    if (listed.has(instance.id)) remove(out, instance, 'kill', false);
    else out.changes.push({ type: 'instance_gone', instance: instance.id, at: now.mono });
  }
}

/** It should run but does not, and no event told so: an examination makes sure. */
function vanished(out: Decision, instance: Instance): void {
  const { state: phase } = instance.phase;
  if (phase === 'ready' || phase === 'draining')
    out.effects.push({ type: 'examine_instance', instance: instance.id });
}

function adoptable(
  state: State,
  observed: ObservedContainer,
  adopted: ReadonlySet<string>,
  id: InstanceId,
  now: Now,
): Instance | null {
  const profile = profileOf(state, observed.model, observed.placement);
  if (!observed.running || profile?.hash !== observed.hash) return null;
  if (adopted.has(`${observed.model}/${observed.placement}`)) return null;
  for (const instance of state.instances.values()) {
    if (instance.model === observed.model && instance.placement === observed.placement) return null;
  }
  const known = state.needs.get(profile.hash);
  return newInstance(
    id,
    observed.model,
    profile,
    known?.kind === 'known' ? known.need : UNKNOWN_NEED,
    0,
    now,
    true,
  );
}

export function newInstance(
  id: InstanceId,
  model: string,
  profile: Instance['profile'],
  need: Need,
  memoryLimit: number,
  now: Now,
  adopted: boolean,
): Instance {
  return {
    id,
    model,
    placement: profile.placement,
    profile,
    need,
    memoryLimit,
    createdAt: now.mono,
    phase: { state: 'starting', since: now.mono, adopted },
    container: null,
    measured: null,
    leases: new Set(),
    idleSince: now.mono,
    moved: [],
    inFlight: null,
    failoverTold: false,
  };
}
