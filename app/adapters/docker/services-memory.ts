/**
 * Memory of the NAS services: every running container that is neither ours nor the controller itself.
 */
import type { DockerApi } from './api.ts';
import { isUnreachable } from './docker-error.ts';
import { LABELS } from './names.ts';
import type { StatsAnswer } from './schemas.ts';

/** An engine of 20.10 takes a second for each, and does nothing meanwhile. */
const AT_ONCE = 16;

/** Bytes; null where the engine can't be asked. */
export async function servicesMemory(
  api: DockerApi,
  owner: string,
  self: string | null,
): Promise<number | null> {
  try {
    const running = await api.list({ all: false, labels: [] });
    const others = running.filter(({ Id, Labels }) => Labels[LABELS.owner] !== owner && Id !== self);
    let sum = 0;
    for (let i = 0; i < others.length; i += AT_ONCE) {
      const group = others.slice(i, i + AT_ONCE).map(({ Id }) => memoryOf(api, Id));
      for (const bytes of await Promise.all(group)) sum += bytes;
    }
    return sum;
  } catch {
    return null;
  }
}

/** One that ended meanwhile takes none. */
async function memoryOf(api: DockerApi, container: string): Promise<number> {
  try {
    return workingMemory(await api.stats(container));
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return 0;
  }
}

/** Page cache that the kernel can drop at once is not counted; cgroup v1 and v2 name it differently. */
export function workingMemory({ memory_stats: { usage, stats } }: StatsAnswer): number {
  if (usage === undefined) return 0;
  const droppable = stats?.['total_inactive_file'] ?? stats?.['inactive_file'] ?? 0;
  return Math.max(0, usage - droppable);
}
