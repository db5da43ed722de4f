/** Of a model that runs on a worse placement because nothing can be begun on a better one. */
import type { Decision } from './changes.ts';
import { drain } from './drain.ts';
import { isExpected } from './engine-away.ts';
import type { Instance } from './instance.ts';
import { allowedPlacements } from './placement.ts';
import { type Engine, instancesOf, type Outage, type State } from './state.ts';
import type { Model, Now, Policy, Profile } from './types.ts';

type Hindrance = Pick<Outage, 'reason' | 'detail'>;

/**
 * Rule of `settle`: the better placement counts as out of service, so that it is brought back like any other one when
 * what hinders it is over. It is none of its failures, and no reason to wait longer from time to time.
 */
export function standIn(out: Decision, state: State, now: Now): void {
  // Asked after every input, and mostly there is nothing.
  if (!isAnythingHindered(state, now)) return;
  for (const model of state.policy?.models.values() ?? []) {
    for (const profile of better(state, model)) {
      const hindrance = hindranceOf(state, profile, now);
      if (hindrance === null) continue;
      const { placement } = profile;
      const retryAt = now.mono + (state.policy?.failover.returnAfterMs ?? 0);
      putOff(out, model, { placement, ...hindrance, since: now, retryAt, failures: 0 });
    }
  }
}

/** A GPU is there that was not: models that run elsewhere for want of it are tried on it at once. */
export function replaceStandIns(out: Decision, state: State, next: Policy, now: Now): void {
  const missing = {
    reason: 'device_missing',
    detail: null,
    since: now,
    retryAt: now.mono,
    failures: 0,
  } as const;
  for (const model of next.models.values()) {
    const before = state.policy?.models.get(model.name);
    for (const { placement, gpu } of better(state, model)) {
      const isNew = before !== undefined && before.profiles[placement] === undefined;
      if (isNew && gpu !== null) putOff(out, model, { placement, ...missing });
    }
  }
}

/**
 * Another mode allows a better placement than the one in use: its instances go when they are free, as they do where
 * a mode forbids theirs. Else what is always loaded would stay for ever where the former mode put it.
 */
export function followModes(out: Decision, state: State, next: Policy, now: Now): void {
  for (const model of next.models.values()) {
    const before = state.policy?.models.get(model.name);
    if (before === undefined || before.mode === model.mode) continue;
    const former = allowedPlacements(before);
    if (better(state, model).every(({ placement }) => former.includes(placement))) continue;
    for (const instance of instancesOf(state, model.name)) drain(out, instance, 'mode', now);
  }
}

function putOff(out: Decision, { name }: Model, outage: Outage): void {
  out.changes.push({ type: 'outage_set', model: name, outage });
}

/** Allowed placements better than the one in use, which have no instance and which nothing took out of service. */
function better(state: State, model: Model): Profile[] {
  const own = instancesOf(state, model.name).filter(({ phase }) => phase.state !== 'stuck');
  const order = allowedPlacements(model);
  const used = Math.max(...own.filter(isUsed).map(({ placement }) => order.indexOf(placement)));
  return order
    .slice(0, Math.max(0, used))
    .filter((placement) => own.every((one) => one.placement !== placement))
    .filter((placement) => state.models.get(model.name)?.outages.has(placement) === false)
    .flatMap((placement) => model.profiles[placement] ?? []);
}

function isUsed({ phase }: Instance): boolean {
  return phase.state === 'starting' || phase.state === 'ready';
}

function isAnythingHindered({ engines, needs }: State, { mono }: Now): boolean {
  for (const engine of engines.values()) if (isAway(engine, mono)) return true;
  for (const { kind } of needs.values()) if (kind === 'unknown') return true;
  return false;
}

function isAway(engine: Engine, mono: number): boolean {
  return engine.problem !== null || isExpected(engine, mono);
}

/** Its engine is away, or its file cannot be read. */
function hindranceOf({ engines, needs }: State, profile: Profile, now: Now): Hindrance | null {
  const engine = engines.get(profile.engine);
  if (engine !== undefined && isAway(engine, now.mono))
    return { reason: 'connection_lost', detail: engine.problem?.text ?? null };
  const need = needs.get(profile.hash);
  return need?.kind === 'unknown' ? { reason: 'load_failed', detail: need.problem.text } : null;
}
