/** Makes the view that the outside sees. Status and placement are derived here, never stored. */
import { budgetOf, hostBytes, reserveOf } from './admission.ts';
import { ownMemory } from './device-memory.ts';
import { isNamedIn } from './gpu-names.ts';
import type { Instance } from './instance.ts';
import { learnedView } from './learning.ts';
import { allowedPlacements } from './placement.ts';
import { queuePositions } from './queue.ts';
import { reducedView, reductionProblems } from './reduction.ts';
import type { Request, RequestId } from './request.ts';
import { standbyView } from './standby.ts';
import { instancesOf, isAwaited, type ModelState, type State } from './state.ts';
import type { Model, ModelStatus, Now, Placement, Policy } from './types.ts';
import { idleDue } from './upkeep.ts';
import type { GpuView, InstanceView, MemoryView, ModelView, RequestView, View } from './view.ts';

/** `seq`: the newest fact's number. `iso` turns wall milliseconds into ISO 8601 with the box's zone. */
export function snapshot(
  state: State,
  now: Now,
  about: { readonly seq: number; readonly version: string; readonly iso: (wall: number) => string },
): View {
  const { seq, version, iso } = about;
  const when = (mono: number): string => iso(now.wall - now.mono + mono);
  const { policy } = state;
  const last = state.lastFailover;
  return {
    seq,
    time: iso(now.wall),
    version,
    home: policy?.home ?? '',
    models: [...(policy?.models.values() ?? [])].map((model) => modelView(state, model, now, when, iso)),
    instances: [...state.instances.values()].map((instance) => instanceView(instance, when)),
    requests: requestViews(state, now, when),
    leases: state.requests.size - state.waiting.length - state.judged.size,
    queue: state.waiting.length,
    memory: policy && memoryView(state, policy),
    gpus: (policy?.gpus ?? []).map((gpu) => gpuView(state, gpu)),
    drill: state.drill && {
      scenario: state.drill.scenario,
      model: state.drill.model,
      since: when(state.drill.since),
    },
    problems: [...state.problems.values(), ...reductionProblems(state)],
    counters: { ...state.counters },
    lastDrill: state.lastDrill && {
      time: iso(state.lastDrill.at),
      model: state.lastDrill.model,
      scenario: state.lastDrill.scenario,
      verdict: state.lastDrill.verdict,
    },
    lastFailover: last && { time: iso(last.at), model: last.model, reason: last.reason },
  };
}

/** The one word for a model: what a person should know first. */
export function statusOf(state: State, model: Model): ModelStatus {
  const instances = instancesOf(state, model.name);
  const phases = new Set(instances.map(({ phase }) => phase.state));
  const own = state.models.get(model.name);
  if (phases.has('ready')) {
    if (currentOutage(model, own) !== null) return 'degraded';
    return instances.some(({ leases }) => leases.size > 0) ? 'busy' : 'ready';
  }
  if (phases.has('starting')) return 'starting';
  if (phases.has('draining') || phases.has('stopping')) return 'draining';
  if (own?.lastError && own.outages.size > 0) return 'failed';
  return 'stopped';
}

/** Where the model serves now: the best placement that is ready. */
export function placementOf(state: State, model: Model): Placement | 'none' {
  const order = model.placements;
  let best: Placement | 'none' = 'none';
  for (const { placement, phase } of instancesOf(state, model.name)) {
    const serves = phase.state === 'ready' || phase.state === 'draining';
    if (serves && (best === 'none' || order.indexOf(placement) < order.indexOf(best))) best = placement;
  }
  return best;
}

function currentOutage(model: Model, own: ModelState | undefined) {
  for (const placement of allowedPlacements(model)) {
    const outage = own?.outages.get(placement);
    if (outage !== undefined) return outage;
  }
  return null;
}

function modelView(
  state: State,
  model: Model,
  now: Now,
  when: (mono: number) => string,
  iso: (wall: number) => string,
): ModelView {
  const own = state.models.get(model.name);
  const instances = instancesOf(state, model.name);
  const placement = placementOf(state, model);
  const next = placement === 'none' ? [...allowedPlacements(model), ...model.placements] : [placement];
  const [shown] = next.flatMap((one) => model.profiles[one] ?? []);
  const outage = currentOutage(model, own);
  const due = instances.map((one) => idleDue(state, one)).find((at) => at !== null) ?? null;
  const need = shown && state.needs.get(shown.hash);
  return {
    name: model.name,
    displayName: model.displayName,
    aliases: model.aliases,
    task: model.task,
    mode: model.mode,
    status: statusOf(state, model),
    placement,
    placements: model.placements,
    keepLoaded: model.keepLoaded,
    idleUnload: model.idleUnloadMs === null ? null : model.idleUnloadMs / 1000,
    unloadAt: due === null ? null : when(due),
    context: shown?.context ?? 0,
    parallel: shown?.parallel ?? 0,
    file: shown?.file ?? '',
    outage: outage && {
      placement: outage.placement,
      reason: outage.reason,
      detail: outage.detail,
      since: iso(outage.since.wall),
      retryAt: when(outage.retryAt),
      probing: instances.some((one) => one.placement === outage.placement && one.phase.state === 'starting'),
    },
    reduced: reducedView(state, model.name, iso),
    lastError: own?.lastError ?? null,
    need: need?.kind === 'known' ? need.need : null,
    loadSeconds: { ...own?.loadSeconds },
    ...learnedView(state, model),
    lastUsed: own?.lastUsed ? iso(own.lastUsed) : null,
    standby: standbyView(state, model, now),
  };
}

function instanceView(instance: Instance, when: (mono: number) => string): InstanceView {
  return {
    model: instance.model,
    placement: instance.placement,
    engine: instance.profile.engine,
    state: instance.phase.state,
    container: instance.container?.slice(0, 12) ?? null,
    since: when(instance.phase.since),
    measured: instance.measured,
    leases: instance.leases.size,
    slots: instance.profile.parallel,
    memory: hostBytes(instance.profile, instance.need),
  };
}

function requestViews(state: State, now: Now, when: (mono: number) => string): RequestView[] {
  const lines = new Map<string, Map<RequestId, number>>();
  for (const name of state.models.keys()) {
    if (isAwaited(state, name)) lines.set(name, queuePositions(state, name, now));
  }
  return [...state.requests.values()].map((request) =>
    requestView(state, request, lines.get(request.model)?.get(request.id) ?? null, when),
  );
}

function requestView(
  state: State,
  request: Request,
  position: number | null,
  when: (mono: number) => string,
): RequestView {
  const loading = instancesOf(state, request.model).some((one) => one.phase.state === 'starting');
  const waits = loading ? 'loading' : 'queued';
  return {
    id: request.externalId,
    model: request.model,
    path: request.path,
    phase: request.phase.phase === 'running' ? 'running' : waits,
    placement: request.phase.phase === 'running' ? request.phase.placement : null,
    attempts: request.attempts,
    since: when(request.receivedAt),
    position,
  };
}

function memoryView(state: State, policy: Policy): MemoryView | null {
  if (state.host === null) return null;
  const { memory } = state.host;
  let models = 0;
  for (const instance of state.instances.values()) models += hostBytes(instance.profile, instance.need);
  return {
    total: memory.total,
    available: memory.available,
    reserve: reserveOf(policy, memory),
    budget: budgetOf(policy, memory),
    models,
    services: memory.services,
  };
}

/** Two may have one name, or each be the first device of its containers: it takes both to tell them apart. */
function gpuView(state: State, gpu: Policy['gpus'][number]): GpuView {
  let models = 0;
  const { name, kind, engine, devices, memory, total, headroom } = gpu;
  for (const instance of state.instances.values()) {
    const used = instance.profile.gpu;
    if (used?.engine !== engine || !isNamedIn(used.name, name)) continue;
    for (const device of devices) models += instance.need.vram[device] ?? 0;
  }
  const read = ownMemory(state, gpu);
  return {
    name,
    kind,
    memory,
    total: total ?? read?.total ?? null,
    used: read?.used ?? null,
    models,
    headroom,
  };
}
