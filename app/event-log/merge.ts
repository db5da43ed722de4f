/** At most so many facts of a type in a second; what is over becomes one fact with `count`. */
import type { FactBody, FactType } from '../core/facts.ts';

const SECOND = 1000;
const MOST_IDS = 16;

interface Window {
  /** Monotonic ms. */
  readonly start: number;
  told: number;
  held: FactBody | null;
}

export interface RateLimit {
  /** What is to be told now of this fact; nothing where it is held for the end of its second. */
  take(fact: FactBody, mono: number): FactBody[];
  /** Held facts whose second is over; with `all` every held one. */
  due(mono: number, all?: boolean): FactBody[];
  /** When the next held fact is due; null: none is held. */
  nextDue(): number | null;
}

export function rateLimit(perSecond: number): RateLimit {
  const windows = new Map<FactType, Window>();
  return {
    take: (fact, mono) => {
      let window = windows.get(fact.type);
      const before = window !== undefined && mono - window.start >= SECOND ? window.held : null;
      if (window === undefined || mono - window.start >= SECOND) {
        window = { start: mono, told: before === null ? 0 : 1, held: null };
        windows.set(fact.type, window);
      }
      const over = window.told >= perSecond;
      if (over) window.held = window.held === null ? fact : merge(window.held, fact);
      else window.told++;
      return [...(before === null ? [] : [before]), ...(over ? [] : [fact])];
    },
    due: (mono, all = false) =>
      [...windows].flatMap(([type, window]) => {
        if (!all && mono - window.start < SECOND) return [];
        windows.delete(type);
        return window.held === null ? [] : [window.held];
      }),
    nextDue: () => {
      const held = [...windows.values()].filter((window) => window.held !== null);
      return held.length === 0 ? null : Math.min(...held.map((window) => window.start + SECOND));
    },
  };
}

/** Keeps the fields on which both agree; counts and the ids of requests are joined. */
export function merge(a: FactBody, b: FactBody): FactBody {
  const agreed = Object.entries(a).filter(([key, value]) =>
    Object.hasOwn(b, key) ? JSON.stringify(value) === JSON.stringify(b[key as keyof FactBody]) : false,
  );
  const ids = [...new Set([...idsOf(a), ...idsOf(b)])].slice(0, MOST_IDS);
  return {
    ...Object.fromEntries(agreed),
    type: a.type,
    count: (a.count ?? 1) + (b.count ?? 1),
    ...(ids.length === 0 ? {} : { requestId: ids[0] ?? '', requestIds: ids }),
  };
}

function idsOf(fact: FactBody): readonly string[] {
  return fact.requestIds ?? (fact.requestId === undefined ? [] : [fact.requestId]);
}
