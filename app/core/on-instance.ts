/** Decisions about what the Containers port reports of one instance. */
import { hostBytes } from './admission.ts';
import { judgeDeath, seeDeath } from './blame.ts';
import type { Decision } from './changes.ts';
import { isDrilled } from './drill.ts';
import type { Measured } from './inputs.ts';
import { about, type Instance } from './instance.ts';
import { reasonOfExit } from './reason.ts';
import type { Request } from './request.ts';
import type { State } from './state.ts';
import { beginOutage, renameOutage, takeOut, tellDeath, tellFailover } from './takeout.ts';
import type { ExitEvidence, Now, Reason } from './types.ts';

export function onReady(
  out: Decision,
  state: State,
  instance: Instance,
  container: string,
  measured: Measured,
  now: Now,
): void {
  if (instance.phase.state !== 'starting') return;
  out.changes.push({ type: 'instance_known', instance: instance.id, container, measured });
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'ready', since: now.mono },
  });
  const { adopted } = instance.phase;
  const model = state.models.get(instance.model);
  if (model === undefined) return;
  out.changes.push({ type: 'model_error', model: instance.model, error: null });
  out.changes.push({ type: 'wanted_set', model: instance.model, wanted: null });
  if (adopted) return;
  const seconds = seconds3(now.mono - instance.phase.since);
  out.changes.push({ type: 'load_timed', model: instance.model, placement: instance.placement, seconds });
  out.facts.push({ type: 'model_loaded', ...about(instance), seconds, ...sizes(instance, measured) });
  const outage = model.outages.get(instance.placement);
  if (outage === undefined) return;
  const away = seconds3(now.mono - outage.since.mono);
  out.changes.push({ type: 'outage_ended', model: instance.model, placement: instance.placement });
  out.facts.push({
    type: 'recovered',
    ...about(instance),
    to: instance.placement,
    reason: outage.reason,
    seconds: away,
  });
}

export function onStartFailed(
  out: Decision,
  state: State,
  instance: Instance,
  evidence: ExitEvidence,
  now: Now,
): void {
  if (instance.phase.state !== 'starting') return;
  const { reason, detail } = reasonOfExit(evidence, null);
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'failed', since: now.mono, reason, examined: true },
  });
  out.effects.push({ type: 'remove_instance', instance: instance.id, how: 'kill', examine: false });
  if (instance.phase.adopted || state.models.get(instance.model) === undefined) return;
  out.facts.push({ type: 'load_failed', ...about(instance), reason, ...(detail === null ? {} : { detail }) });
  if (raiseLimit(out, state, instance, reason)) return;
  beginOutage(out, state, instance, reason, detail, now);
  blame(out, state, instance, reason, detail);
}

/** Docker's evidence of an end, or an examination's. */
export function onExited(
  out: Decision,
  state: State,
  instance: Instance,
  evidence: ExitEvidence,
  now: Now,
): void {
  const { phase } = instance;
  if (phase.state === 'failed' && !phase.examined) {
    examined(out, state, instance, evidence, phase.reason, now);
    return;
  }
  // A start reports its own failure; a removal expects the end.
  if (phase.state !== 'ready' && phase.state !== 'draining') return;
  if (evidence.running) {
    if (evidence.killedOutside) onStopped(out, state, instance, 'killed_outside', now);
    return;
  }
  seeDeath(out, state, instance);
  out.effects.push({ type: 'close_connections', instance: instance.id });
  out.effects.push({ type: 'remove_instance', instance: instance.id, how: 'kill', examine: false });
  if (phase.state === 'ready') beginOutage(out, state, instance, 'exit', null, now);
  const before = phase.state === 'draining' && phase.reason !== null ? phase.reason : 'exit';
  examined(out, state, instance, evidence, before, now);
}

/**
 * Somebody froze it, or is killing it: its sockets may stay open and silent, so they are closed now. The
 * examination at its removal brings the rest.
 */
export function onStopped(
  out: Decision,
  state: State,
  instance: Instance,
  reason: 'paused' | 'killed_outside',
  now: Now,
): void {
  if (instance.phase.state !== 'ready') return;
  takeOut(out, state, instance, reason, now);
  out.effects.push({ type: 'close_connections', instance: instance.id });
}

export function onRemoved(out: Decision, state: State, instance: Instance, now: Now): void {
  if (instance.phase.state === 'failed') tellFailover(out, state, instance, instance.phase.reason, now);
  out.changes.push({ type: 'instance_gone', instance: instance.id, at: now.mono });
  if (instance.phase.state !== 'stopping') return;
  out.facts.push({
    type: 'model_unloaded',
    ...about(instance),
    why: instance.phase.why,
    seconds: seconds3(now.mono - instance.phase.since),
    bytes: hostBytes(instance.profile, instance.need),
  });
}

export function onStuck(out: Decision, instance: Instance, detail: string, now: Now): void {
  if (instance.phase.state !== 'stopping' && instance.phase.state !== 'failed') return;
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'stuck', since: now.mono, detail },
  });
}

function examined(
  out: Decision,
  state: State,
  instance: Instance,
  evidence: ExitEvidence,
  before: Reason,
  now: Now,
): void {
  const { reason, detail } = reasonOfExit(evidence, before);
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'failed', since: now.mono, reason, examined: true },
  });
  tellDeath(out, instance, reason, detail);
  judgeDeath(out, state, instance, instance.inFlight ?? [...instance.leases], evidence, reason);
  raiseLimit(out, state, instance, reason);
  renameOutage(out, state, instance, reason, detail);
}

/** A kill by our own limit shows that the estimate was short: the limit is raised once; not after a drill. */
function raiseLimit(out: Decision, state: State, instance: Instance, reason: Reason): boolean {
  const { hash } = instance.profile;
  if (reason !== 'memory_limit' || state.raisedLimits.has(hash)) return false;
  if (isDrilled(state, instance.model)) return false;
  out.changes.push({ type: 'limit_raised', hash });
  return true;
}

/** Requests and wishes that waited for this start go elsewhere, or end with its reason. */
function blame(out: Decision, state: State, instance: Instance, reason: Reason, detail: string | null): void {
  const error = detail === null ? reason : `${reason}: ${detail}`;
  out.changes.push({ type: 'model_error', model: instance.model, error });
  const wanted = state.models.get(instance.model)?.wanted ?? null;
  if (wanted !== null) {
    const tried = new Set([...wanted.tried, instance.placement]);
    out.changes.push({ type: 'wanted_set', model: instance.model, wanted: { ...wanted, tried } });
  }
  for (const request of waitingFor(state, instance.model)) {
    if (request.tried.has(instance.placement)) continue;
    out.changes.push({
      type: 'attempt_failed',
      request: request.id,
      placement: instance.placement,
      failure: reason,
    });
    out.changes.push({ type: 'request_moved', request: request.id, from: instance.id });
  }
}

function waitingFor(state: State, model: string): Request[] {
  const found: Request[] = [];
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    if (request?.model === model) found.push(request);
  }
  return found;
}

function sizes(instance: Instance, measured: Measured) {
  const vram = measured.vram;
  return { bytes: measured.ram ?? instance.need.ram, ...(vram === null ? {} : { vram }) };
}

function seconds3(ms: number): number {
  return Math.round(ms) / 1000;
}
