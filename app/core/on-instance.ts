/** Decisions about what the Containers port reports of one instance. */
import { hostBytes } from './admission.ts';
import type { Decision } from './changes.ts';
import { isDrilled, waitsForDrill } from './drill.ts';
import type { Measured } from './inputs.ts';
import { about, type Instance } from './instance.ts';
import { onStartAnswered, onStartUnanswered } from './on-engine.ts';
import { problemKey } from './problem.ts';
import { reasonOfExit } from './reason.ts';
import { remove } from './removal.ts';
import type { Request } from './request.ts';
import { wasCached } from './standby.ts';
import type { State } from './state.ts';
import { beginOutage, raiseLimit, tellFailover } from './takeout.ts';
import type { ExitEvidence, Now, Problem, Reason } from './types.ts';

/** Of a llama-server that serves from the CPU though its device was named. */
const NOTHING_ON_DEVICE = 'its log tells of no weights on a device';

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
  onStartAnswered(out, state, instance);
  const seconds = seconds3(now.mono - instance.phase.since);
  out.changes.push({ type: 'load_timed', model: instance.model, placement: instance.placement, seconds });
  if (instance.placement === 'cpu') {
    const how = wasCached(model.standby, instance.profile, instance.createdAt) ? 'cached' : 'cold';
    const starts = { ...model.standby.starts, [how]: seconds };
    out.changes.push({ type: 'standby_set', model: instance.model, standby: { starts } });
  }
  out.facts.push({ type: 'model_loaded', ...about(instance), seconds, ...sizes(instance, measured) });
  if (instance.placement === 'gpu' && measured.placement === 'cpu') {
    out.facts.push({ type: 'cpu_fallback_detected', ...about(instance), detail: NOTHING_ON_DEVICE });
  }
  if (instance.profile.gpu !== null) clearHeld(out, state, instance);
  const outage = model.outages.get(instance.placement);
  if (outage === undefined) return;
  const away = seconds3(now.mono - outage.since.mono);
  // What a drill broke says nothing about the device.
  const failures = isDrilled(state, instance.model) ? 0 : outage.failures;
  out.changes.push({
    type: 'outage_ended',
    model: instance.model,
    placement: instance.placement,
    recovery: { failures, at: now.mono },
  });
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
  remove(out, instance, 'kill', false);
  if (instance.phase.adopted || state.models.get(instance.model) === undefined) return;
  out.facts.push({ type: 'load_failed', ...about(instance), reason, ...(detail === null ? {} : { detail }) });
  if (evidence.engineAway) {
    if (onStartUnanswered(out, state, instance, now) === 'forgiven') return;
  } else onStartAnswered(out, state, instance);
  if (raiseLimit(out, state, instance, reason)) return;
  beginOutage(out, state, instance, reason, detail, now);
  blame(out, state, instance, reason, detail);
}

/** `memoryBack` false: the container is gone, but its card still holds the memory. */
export function onRemoved(
  out: Decision,
  state: State,
  instance: Instance,
  memoryBack: boolean,
  now: Now,
): void {
  if (instance.phase.state === 'failed') tellFailover(out, state, instance, instance.phase.reason, now);
  out.changes.push({ type: 'instance_gone', instance: instance.id, at: now.mono });
  const held = memoryHeld(instance);
  if (!memoryBack) out.changes.push({ type: 'problem_set', problem: held });
  else if (instance.profile.gpu !== null) clearHeld(out, state, instance);
  if (instance.phase.state !== 'stopping') return;
  out.facts.push({
    type: 'model_unloaded',
    ...about(instance),
    why: instance.phase.why,
    seconds: seconds3(now.mono - instance.phase.since),
    bytes: hostBytes(instance.profile, instance.need),
    ...(memoryBack ? {} : { detail: held.text }),
  });
}

/** It loaded again, or went as it should. */
function clearHeld(out: Decision, state: State, instance: Instance): void {
  const key = problemKey(memoryHeld(instance));
  if (state.problems.has(key)) out.changes.push({ type: 'problem_cleared', key });
}

function memoryHeld({ model, profile }: Instance): Problem {
  const gpu = profile.gpu?.name ?? '';
  return {
    code: 'gpu_memory_held',
    model,
    text: `${model} was removed from the GPU ${gpu}, but its memory was not seen back after 5 s.`,
    fix: 'Another program may have taken it. If loads fail for lack of GPU memory, end that program, or restart the host to reset the driver.',
    params: { gpu },
  };
}

export function onStuck(out: Decision, instance: Instance, detail: string, now: Now): void {
  if (instance.phase.state !== 'stopping' && instance.phase.state !== 'failed') return;
  out.changes.push({
    type: 'instance_moved',
    instance: instance.id,
    phase: { state: 'stuck', since: now.mono, detail },
  });
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
    // What a drill broke says nothing to those who wait for its end.
    if (request.tried.has(instance.placement) || waitsForDrill(state, request)) continue;
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
