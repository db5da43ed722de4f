/**
 * Waits until a card has its memory back: drivers free it a while after the process ended, and a load that
 * begins too early fails.
 */
import type { Clock, DeviceMemory } from './ports.ts';

/** Between two looks, and the longest wait in all (ms); Ollama's figures, typical are 0.5 to 1.5 s. */
const LOOK_MS = 250;
const LONGEST_MS = 5_000;
/** This part of what the instance took: estimates and other programs make the rest unsure. */
const ENOUGH = 0.75;

export interface Taken {
  /** Bytes of device memory that the instance had. */
  readonly bytes: number;
  /** What all cards used before its removal; null: they do not tell. */
  readonly before: number | null;
  /** It still ran then. Of one that had died, part may have been back: then a steady reading is the sign. */
  readonly ran: boolean;
}

/** True: it is back, or nothing can tell and the process is gone. False: the bounded wait is over. */
export async function memoryBack(
  devices: Pick<DeviceMemory, 'used'>,
  clock: Clock,
  taken: Taken,
): Promise<boolean> {
  const { bytes, before, ran } = taken;
  if (bytes === 0 || before === null) return true;
  const deadline = clock.now().mono + LONGEST_MS;
  let last = before;
  for (;;) {
    const used = await devices.used();
    if (used === null || before - used >= bytes * ENOUGH) return true;
    if (!ran && used === last) return true;
    if (clock.now().mono >= deadline) return false;
    last = used;
    await new Promise<void>((resolve) => clock.at(clock.now().mono + LOOK_MS, resolve));
  }
}
