/**
 * Prevention before reaction: whether an instance fits before it is made. NAS first: models never take the
 * reserve, and together never more than the budget. All sizes in bytes.
 */
import { ownMemory } from './device-memory.ts';
import { type Instance, isLeaving } from './instance.ts';
import type { InstanceId } from './request.ts';
import { isAwaited, isStandingBy, type State } from './state.ts';
import type { HostMemory, Need, Policy, Profile } from './types.ts';

const GIB = 1024 ** 3;

/** RAM kept for the NAS services; `auto` is the larger of 2 GiB and 10 % of the total. */
export function reserveOf(policy: Policy, host: HostMemory): number {
  return policy.memory.reserve === 'auto'
    ? Math.max(2 * GIB, Math.ceil(host.total * 0.1))
    : policy.memory.reserve;
}

/** RAM that models may take together; `auto` is the total less the reserve. */
export function budgetOf(policy: Policy, host: HostMemory): number {
  return policy.memory.budget === 'auto' ? host.total - reserveOf(policy, host) : policy.memory.budget;
}

/** Bytes of the host's RAM: a GPU that shares it (an iGPU) takes its device memory from there too. */
export function hostBytes(profile: Profile, need: Need): number {
  return need.ram + (profile.gpu?.memory === 'shared' ? deviceBytes(need) : 0);
}

export function deviceBytes(need: Need): number {
  let sum = 0;
  for (const bytes of Object.values(need.vram)) sum += bytes;
  return sum;
}

const MIB = 1024 ** 2;

/**
 * Hard limit of a container that needs `bytes`: the larger of 10 % and 512 MiB above. `raised`: it was once
 * killed by that limit, so the estimate is short; a quarter more.
 */
export function memoryLimitOf(bytes: number, raised: boolean): number {
  const wanted = raised ? bytes * 1.25 + 512 * MIB : bytes;
  return Math.ceil(wanted + Math.max(wanted * 0.1, 512 * MIB));
}

/** What decides, in numbers: `need` against `room`. */
export interface Fit {
  readonly fits: boolean;
  readonly need: number;
  readonly room: number;
  readonly by: 'available' | 'budget' | 'vram';
}

/** Whether the profile fits when the instances in `without` are gone. Null while the host was never read. */
export function fit(
  state: State,
  profile: Profile,
  need: Need,
  without: ReadonlySet<InstanceId> = new Set(),
): Fit | null {
  if (state.policy === null || state.host === null) return null;
  const { memory } = state.host;
  const bytes = hostBytes(profile, need);
  const fits: Fit[] = [
    limit('budget', bytes, budgetOf(state.policy, memory) - takenBudget(state, without)),
    limit(
      'available',
      bytes,
      memory.available - reserveOf(state.policy, memory) - pendingBytes(state, without),
    ),
  ];
  const vram = vramRoom(state, profile, without);
  if (vram !== null) fits.push(limit('vram', deviceBytes(need), vram));
  return fits.reduce((worst, each) => (each.room - each.need < worst.room - worst.need ? each : worst));
}

/**
 * Idle instances whose removal makes the profile fit, the least recently used first; null: no such set. None is
 * named unless the load then fits. `onlyOf`: the only model that may give way.
 */
export function victims(
  state: State,
  profile: Profile,
  need: Need,
  onlyOf: string | null,
): Instance[] | null {
  const idle = [...state.instances.values()].filter(
    (instance) => isIdle(state, instance) && (onlyOf === null || instance.model === onlyOf),
  );
  idle.sort((a, b) => a.idleSince - b.idleSince);
  const gone = new Set<InstanceId>();
  const chosen: Instance[] = [];
  for (const instance of idle) {
    gone.add(instance.id);
    chosen.push(instance);
    if (fit(state, profile, need, gone)?.fits) return chosen;
  }
  return null;
}

/** Whether memory is about to come back by itself. */
export function memoryIsComingBack(state: State): boolean {
  for (const instance of state.instances.values()) if (isLeaving(instance)) return true;
  return false;
}

function limit(by: Fit['by'], need: number, room: number): Fit {
  return { by, need, room: Math.max(0, Math.floor(room)), fits: need <= room };
}

function isIdle(state: State, instance: Instance): boolean {
  if (instance.phase.state !== 'ready' || instance.leases.size > 0) return false;
  // A standby takes nothing from anyone, so it gives way even where the model itself is kept loaded.
  if (isStandingBy(state, instance)) return true;
  if (state.policy?.models.get(instance.model)?.keepLoaded) return false;
  return !isAwaited(state, instance.model);
}

function takenBudget(state: State, without: ReadonlySet<InstanceId>): number {
  let sum = 0;
  for (const instance of state.instances.values()) {
    if (!without.has(instance.id)) sum += hostBytes(instance.profile, instance.need);
  }
  return sum;
}

/**
 * Bytes that MemAvailable calls available though they are spoken for: all of an instance that is starting, the
 * mapped weights of a running one. Negative for an instance in `without`: what its removal gives back.
 */
function pendingBytes(state: State, without: ReadonlySet<InstanceId>): number {
  let sum = 0;
  for (const instance of state.instances.values()) {
    const bytes = hostBytes(instance.profile, instance.need);
    if (without.has(instance.id)) sum -= bytes - instance.need.mapped;
    else if (instance.phase.state === 'starting' && !instance.phase.adopted) sum += bytes;
    else sum += instance.need.mapped;
  }
  return sum;
}

/**
 * Room on a card with memory of its own, by what is planned on it and, where its driver tells, by what is free of it:
 * other programs take from it too. Null where its size is not known or it shares the host's.
 */
function vramRoom(state: State, profile: Profile, without: ReadonlySet<InstanceId>): number | null {
  const { gpu } = profile;
  if (gpu === null || gpu.memory === 'shared') return null;
  const read = ownMemory(state, gpu);
  const total = gpu.total ?? read?.total ?? null;
  if (total === null) return null;
  let planned = total - gpu.headroom;
  let free = read === null ? Number.POSITIVE_INFINITY : read.total - read.used - gpu.headroom;
  for (const { id, profile: other, need, phase } of state.instances.values()) {
    if (other.gpu?.name !== gpu.name) continue;
    const bytes = deviceBytes(need);
    if (without.has(id)) {
      free += bytes;
      continue;
    }
    planned -= bytes;
    if (phase.state === 'starting' && !phase.adopted) free -= bytes;
  }
  return Math.min(planned, free);
}
