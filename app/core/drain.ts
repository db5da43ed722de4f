/** The way out of service of an instance that may still be at work. */
import type { Decision } from './changes.ts';
import type { Instance } from './instance.ts';
import { remove } from './removal.ts';
import type { Now } from './types.ts';

/** Ready instances finish their leases and go; starting ones end at once. */
export function drain(
  out: Decision,
  instance: Instance,
  why: 'command' | 'mode' | 'config' | 'shutdown',
  now: Now,
): void {
  if (instance.phase.state === 'ready') {
    const phase = { state: 'draining', since: now.mono, why, reason: null } as const;
    out.changes.push({ type: 'instance_moved', instance: instance.id, phase });
  } else if (instance.phase.state === 'starting') {
    const phase = { state: 'stopping', since: now.mono, why } as const;
    out.changes.push({ type: 'instance_moved', instance: instance.id, phase });
    remove(out, instance, 'kill', false);
  }
}
