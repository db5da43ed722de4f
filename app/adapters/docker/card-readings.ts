/** The last readings of the cards' memory, and those who wait for the next. */
import type { CardMemory, HostMemory } from '../../core/types.ts';
import type { Clock } from '../../ports.ts';
import { SMI_EACH } from './nvidia-smi.ts';

/** An older reading says nothing of now (ms). */
const KEPT_MS = 2.5 * SMI_EACH;
/** A new one is waited for so long (ms). */
const FRESH_MS = 1.5 * SMI_EACH;

type Cards = HostMemory['cards'];

export interface CardReadings {
  add(pci: string, memory: CardMemory): void;
  /** None counts any more. */
  clear(): void;
  /** By PCI address, of the last seconds. */
  recent(): Cards;
  /** Read after this call: a card that tells nothing within 3 s is not among them. */
  fresh(): Promise<Cards>;
}

interface Reading {
  readonly memory: CardMemory;
  readonly at: number;
  readonly number: number;
}

export function cardReadings(clock: Clock): CardReadings {
  const last = new Map<string, Reading>();
  const waiting = new Set<() => void>();
  let count = 0;

  function some(counts: (reading: Reading) => boolean): Cards {
    const kept = [...last].filter(([, reading]) => counts(reading));
    return Object.fromEntries(kept.map(([pci, { memory }]) => [pci, memory]));
  }

  const recent = (): Cards => {
    const since = clock.now().mono - KEPT_MS;
    return some(({ at }) => at >= since);
  };

  return {
    recent,
    add(pci, memory) {
      count += 1;
      last.set(pci, { memory, at: clock.now().mono, number: count });
      for (const look of waiting) look();
    },
    clear() {
      last.clear();
      for (const look of waiting) look();
    },
    fresh() {
      const asked = count;
      const since = (): Cards => some(({ number }) => number > asked);
      const awaited = Object.keys(recent());
      if (awaited.length === 0) return Promise.resolve({});
      return new Promise((resolve) => {
        const end = (): void => {
          waiting.delete(look);
          disarm();
          resolve(since());
        };
        const look = (): void => {
          const told = since();
          if (last.size === 0 || awaited.every((pci) => pci in told)) end();
        };
        const disarm = clock.at(clock.now().mono + FRESH_MS, end);
        waiting.add(look);
      });
    },
  };
}
