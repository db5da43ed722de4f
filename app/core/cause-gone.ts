/** What a person mended is tried at once, not when the wait of a failure that had another cause is over. */
import type { Decision } from './changes.ts';
import type { Outage, State } from './state.ts';
import type { Model, Now, Placement, Policy, Reason } from './types.ts';

/** An image is on the engine that was not. */
export function imageCame(out: Decision, state: State, image: string, now: Now): void {
  retry(out, state, state.policy, now, (model, { placement, reason }) => {
    return reason === 'start_failed' && model.profiles[placement]?.image === image;
  });
}

const OF_A_DEVICE: readonly Reason[] = ['device_missing', 'gpu_lost', 'start_failed'];

/** A GPU is there, or the engine was restarted, perhaps for the sake of one. */
export function deviceCame(
  out: Decision,
  state: State,
  policy: Policy | null,
  engine: string,
  now: Now,
): void {
  retry(out, state, policy, now, (model, { placement, reason }) => {
    const profile = model.profiles[placement];
    return profile?.gpu != null && profile.engine === engine && OF_A_DEVICE.includes(reason);
  });
}

/** Another definition of the placement, or other limits of memory: the failures were those of the former ones. */
export function definitionChanged(out: Decision, state: State, next: Policy, now: Now): void {
  const before = state.configured;
  if (before === null) return;
  const limits = JSON.stringify(before.memory) !== JSON.stringify(next.memory);
  retry(out, state, next, now, (model, { placement, reason }) => {
    const former = before.models.get(model.name)?.profiles[placement]?.hash;
    return (limits && reason === 'does_not_fit') || former !== model.profiles[placement]?.hash;
  });
}

function retry(
  out: Decision,
  state: State,
  policy: Policy | null,
  now: Now,
  isMended: (model: Model, outage: Outage) => boolean,
): void {
  for (const model of policy?.models.values() ?? []) {
    const outages: ReadonlyMap<Placement, Outage> = state.models.get(model.name)?.outages ?? new Map();
    for (const outage of outages.values()) {
      if (!isMended(model, outage)) continue;
      const change = { ...outage, failures: 0, retryAt: now.mono };
      out.changes.push({ type: 'outage_set', model: model.name, outage: change });
    }
  }
}
