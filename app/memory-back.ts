/**
 * Waits until a card has its memory back: drivers free it a while after the process ended, and a load that
 * begins too early fails.
 */
import type { HostMemory } from './core/types.ts';
import type { Clock, DeviceMemory } from './ports.ts';
import { within } from './within.ts';

/** Between two looks, and the longest wait in all (ms); Ollama's figures, typical are 0.5 to 1.5 s. */
const LOOK_MS = 250;
const LONGEST_MS = 5_000;
/** This part of what the instance took: estimates and other programs make the rest unsure. */
const ENOUGH = 0.75;

export interface Taken {
  /** Bytes of device memory that the instance had. */
  readonly bytes: number;
  /** What the cards that tell it used before its removal. */
  readonly before: HostMemory['cards'];
  /** It still ran then. Of one that had died, part may have been back: then a steady reading is the sign. */
  readonly ran: boolean;
}

/** True: it is back, or nothing can tell and the process is gone. False: the bounded wait is over. */
export async function memoryBack(
  devices: Pick<DeviceMemory, 'fresh'>,
  clock: Clock,
  { bytes, before, ran }: Taken,
): Promise<boolean> {
  if (bytes === 0 || Object.keys(before).length === 0) return true;
  const deadline = clock.now().mono + LONGEST_MS;
  // Where less was in use than it was to take, the reading was of before it, or the estimate is too high.
  const steady = !ran || usedOf(before) < bytes * ENOUGH;
  let last = before;
  for (;;) {
    const now = await within({ clock }, devices.fresh(), deadline - clock.now().mono);
    if (now === null) return false;
    // A card that tells no more must not look like one that was freed.
    const [then, left] = bothOf(before, now);
    if (Object.keys(left).length === 0 || usedOf(then) - usedOf(left) >= bytes * ENOUGH) return true;
    if (steady && usedOf(left) === usedOf(bothOf(last, left)[0])) return true;
    if (clock.now().mono >= deadline) return false;
    last = left;
    await new Promise<void>((resolve) => clock.at(clock.now().mono + LOOK_MS, resolve));
  }
}

type Cards = HostMemory['cards'];

function usedOf(cards: Cards): number {
  return Object.values(cards).reduce((sum, { used }) => sum + used, 0);
}

/** The cards that both know. */
function bothOf(a: Cards, b: Cards): readonly [Cards, Cards] {
  const common = (cards: Cards, other: Cards) =>
    Object.fromEntries(Object.entries(cards).filter(([pci]) => pci in other));
  return [common(a, b), common(b, a)];
}
