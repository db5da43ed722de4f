/**
 * The Containers port with starts that can be made to fail once: the plan is spoiled, everything behind it is
 * real.
 */
import type { InstancePlan } from '../../core/effects.ts';
import type { Placement } from '../../core/types.ts';
import type { Containers } from '../../ports.ts';
import type { StartFault } from './scenarios.ts';

const MIB = 1024 * 1024;
/** No llama-server loads a model in it. */
const SMALL_LIMIT = 24 * MIB;
/** No machine has so many. */
const NO_SUCH_DEVICE = 99;

export interface ArmedFault {
  readonly model: string;
  readonly placement: Placement;
  readonly fault: StartFault;
}

export interface FaultyStarts {
  readonly containers: Containers;
  /** The next start of this model and placement fails; null: none does any more. */
  arm(fault: ArmedFault | null): void;
}

export function faultyStarts(containers: Containers): FaultyStarts {
  let armed: ArmedFault | null = null;
  return {
    containers: {
      ...containers,
      start(plan) {
        if (armed?.model !== plan.model || armed.placement !== plan.profile.placement)
          return containers.start(plan);
        const { fault } = armed;
        armed = null;
        return containers.start(spoiled(plan, fault));
      },
    },
    arm(fault) {
      armed = fault;
    },
  };
}

export function spoiled(plan: InstancePlan, fault: StartFault): InstancePlan {
  if (fault === 'small_limit') return { ...plan, memoryLimit: SMALL_LIMIT };
  const { profile } = plan;
  if (profile.gpu === null) return plan;
  const devices = profile.gpu.devices.map((name) => name.replace(/\d*$/, String(NO_SUCH_DEVICE)));
  return { ...plan, profile: { ...profile, gpu: { ...profile.gpu, devices } } };
}
