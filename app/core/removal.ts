/** The removal of an instance, with what is expected back. */
import { deviceBytes } from './admission.ts';
import type { Decision } from './changes.ts';
import type { Instance } from './instance.ts';

/**
 * Asks for the removal. A card with memory of its own frees it only when the driver has cleaned up, a while
 * after the process ended; memory of the host is free when the container, and its cgroup with it, is gone.
 */
export function remove(out: Decision, instance: Instance, how: 'gentle' | 'kill', examine: boolean): void {
  const { id, profile, need } = instance;
  const device = profile.gpu?.memory === 'dedicated' ? deviceBytes(need) : 0;
  out.effects.push({ type: 'remove_instance', instance: id, how, examine, device });
}
