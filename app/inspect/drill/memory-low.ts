/** Reads MemAvailable again and again while a drill runs. */
import type { DrillParts } from './parts.ts';

const EVERY_MS = 250;

export interface MemoryLow {
  /** Bytes; null: it could not be read. */
  lowest(): number | null;
  end(): void;
}

export function memoryLow({ clock, sample }: Pick<DrillParts, 'clock' | 'sample'>): MemoryLow {
  let lowest: number | null = null;
  let ended = false;
  let disarm = (): void => {};
  const read = async (): Promise<void> => {
    const memory = await sample().catch(() => null);
    if (memory !== null && (lowest === null || memory.available < lowest)) lowest = memory.available;
    if (!ended) disarm = clock.at(clock.now().mono + EVERY_MS, () => void read());
  };
  void read();
  return {
    lowest: () => lowest,
    end() {
      ended = true;
      disarm();
    },
  };
}
