/**
 * How ready the CPU fallback waits while a better placement serves: `cached` keeps its file in the page cache,
 * `warm` its instance loaded; and where an answer is slow to begin, its start is begun ahead. None of it takes
 * memory from anything else.
 */
import { fit, hostBytes } from './admission.ts';
import { type Decision, isEmpty } from './changes.ts';
import { allowedPlacements, breaker } from './placement.ts';
import type { RequestId } from './request.ts';
import type { Standby } from './standby-state.ts';
import { prepare } from './starts.ts';
import { instancesOf, type ModelState, type State } from './state.ts';
import type { Model, Now, Profile } from './types.ts';
import type { ModelView } from './view.ts';

/** Pages that nobody reads are the first to go: so often the file is read again (ms). */
export const READ_AGAIN_MS = 600_000;
/** Without room, or after a failed read, the next try (ms). */
const RETRY_MS = 60_000;

/** Rule of `settle`: sees to the standby of each model whose better placement serves. */
export function keepStandby(out: Decision, state: State, now: Now): void {
  if (state.shutdown !== null) return;
  for (const model of state.policy?.models.values() ?? []) {
    const profile = standbyProfile(model);
    const own = state.models.get(model.name);
    if (profile === null || own === undefined || own.standby.retryAt > now.mono) continue;
    if (!servesBetter(state, model) || hasOnCpu(state, model.name)) continue;
    if (breaker(own.outages.get('cpu'), now.mono) !== 'closed') continue;
    if (profile.standby === 'warm') keepWarm(out, state, model, now);
    else keepCached(out, state, model, profile, own, now);
    if (!isEmpty(out)) return;
  }
}

/** Rule of `settle`: the CPU is started ahead for answers that are slow to begin. */
export function startAhead(out: Decision, state: State, now: Now): void {
  for (const id of state.slow) {
    const request = state.requests.get(id);
    const model = state.policy?.models.get(request?.model ?? '');
    if (request === undefined || model === undefined || hasOnCpu(state, model.name)) continue;
    // The mode may have changed since.
    if (!allowedPlacements(model).includes('cpu')) continue;
    const outage = state.models.get(model.name)?.outages.get('cpu');
    if (breaker(outage, now.mono) !== 'closed') continue;
    // Where there is no room, the failure itself may make some: then it is decided anew.
    if (prepare(out, state, model, 'cpu', 'nobody', now).kind === 'short') {
      out.changes.push({ type: 'request_slow', request: id, on: false });
    }
    if (!isEmpty(out)) return;
  }
}

/** Half of the time to its first content is over: it may have to move. */
export function onSlow(out: Decision, state: State, id: RequestId): void {
  const request = state.requests.get(id);
  if (request?.phase.phase !== 'running' || request.phase.placement === 'cpu') return;
  const model = state.policy?.models.get(request.model);
  if (model === undefined || request.neverReplay || request.tried.has('cpu')) return;
  if (allowedPlacements(model).includes('cpu')) {
    out.changes.push({ type: 'request_slow', request: id, on: true });
  }
}

/** The file was read; `read` null: it could not be. */
export function onReadAhead(
  out: Decision,
  state: State,
  model: string,
  hash: string,
  read: { readonly bytes: number; readonly seconds: number } | null,
  now: Now,
): void {
  if (!state.models.has(model)) return;
  const done =
    read === null
      ? { reading: false, retryAt: now.mono + RETRY_MS }
      : { reading: false, retryAt: now.mono + READ_AGAIN_MS, cached: { ...read, hash, at: now.mono } };
  out.changes.push({ type: 'standby_set', model, standby: { ...done, short: null } });
}

/** Whether the file of the CPU's profile was kept in the page cache at this time. */
export function wasCached({ cached }: Standby, profile: Profile, mono: number): boolean {
  return cached?.hash === profile.hash && mono - cached.at < 2 * READ_AGAIN_MS;
}

function standbyProfile(model: Model): Profile | null {
  const profile = model.profiles.cpu;
  if (profile === undefined || profile.standby === 'cold') return null;
  return allowedPlacements(model).includes('cpu') ? profile : null;
}

function servesBetter(state: State, model: Model): boolean {
  return instancesOf(state, model.name).some(
    ({ placement, phase }) => placement !== 'cpu' && phase.state === 'ready',
  );
}

function hasOnCpu(state: State, model: string): boolean {
  return instancesOf(state, model).some(({ placement }) => placement === 'cpu');
}

function keepWarm(out: Decision, state: State, model: Model, now: Now): void {
  const prepared = prepare(out, state, model, 'cpu', 'nobody', now);
  if (prepared.kind !== 'short') return;
  const standby = { short: prepared.fit, retryAt: now.mono + RETRY_MS };
  out.changes.push({ type: 'standby_set', model: model.name, standby });
}

/** The file is read only where the model itself would have room. */
function keepCached(
  out: Decision,
  state: State,
  model: Model,
  profile: Profile,
  own: ModelState,
  now: Now,
): void {
  const need = state.needs.get(profile.hash);
  if (own.standby.reading || need?.kind !== 'known') return;
  const room = fit(state, profile, need.need);
  if (room === null) return;
  const standby = room.fits
    ? ({ reading: true } as const)
    : { short: room, retryAt: now.mono + RETRY_MS, cached: null };
  out.changes.push({ type: 'standby_set', model: model.name, standby });
  if (room.fits) out.effects.push({ type: 'read_ahead', model: model.name, profile });
}

/** What the standby costs and saves, as measured. */
export function standbyView(state: State, model: Model, now: Now): ModelView['standby'] {
  const profile = model.profiles.cpu;
  const own = state.models.get(model.name);
  if (profile === undefined || own === undefined) return null;
  const { standby } = own;
  const common = {
    kind: profile.standby,
    starts: { cold: standby.starts.cold ?? null, cached: standby.starts.cached ?? null },
    need: standby.short?.need ?? null,
    room: standby.short?.room ?? null,
  };
  const serves = servesBetter(state, model);
  if (profile.standby === 'warm') {
    const one = instancesOf(state, model.name).find(({ placement }) => placement === 'cpu');
    const bytes = one === undefined ? null : (one.measured?.ram ?? hostBytes(one.profile, one.need));
    const ready = one?.phase.state === 'ready' ? 'ready' : 'starting';
    const without = standby.short !== null && serves ? 'no_room' : 'waiting';
    return { ...common, state: one === undefined ? without : ready, bytes, readSeconds: null };
  }
  if (profile.standby === 'cold') return { ...common, state: 'off', bytes: null, readSeconds: null };
  const kept = serves && wasCached(standby, profile, now.mono);
  const other = standby.short !== null && serves ? 'no_room' : 'waiting';
  const bytes = kept ? (standby.cached?.bytes ?? null) : null;
  const readSeconds = kept ? (standby.cached?.seconds ?? null) : null;
  return { ...common, state: standby.reading ? 'reading' : kept ? 'kept' : other, bytes, readSeconds };
}
