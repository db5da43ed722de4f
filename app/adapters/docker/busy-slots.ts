/** Asking an instance for its slots. */
import type { InstanceAddress } from '../../ports.ts';

const SLOTS_MS = 5_000;

/** Slots at work by llama-server's own word; null: it does not say. */
export async function busySlots({ host, port, key }: InstanceAddress): Promise<number | null> {
  try {
    const answer = await fetch(`http://${host}:${port}/slots`, {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(SLOTS_MS),
    });
    const slots: unknown = await answer.json();
    if (!answer.ok || !Array.isArray(slots)) return null;
    return slots.filter((slot: unknown) => isBusy(slot)).length;
  } catch {
    return null;
  }
}

function isBusy(slot: unknown): boolean {
  return typeof slot === 'object' && slot !== null && 'is_processing' in slot && slot.is_processing === true;
}
