/** Chance that can be repeated: the same seed gives the same choices in the same order. */
export interface Random {
  /** A whole number from `low` up to, without, `high`. */
  between(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
  /** One of the items, each as likely as its weight says. */
  weighted<T extends { readonly weight: number }>(items: readonly T[]): T;
  /** A generator of its own, so that one user's draws do not shift another's. */
  branch(): Random;
}

/** @param seed any whole number; 32 bits of it count. The generator is mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(draw() * (high - low));
  return {
    between,
    pick(items) {
      const item = items[between(0, items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    weighted(items) {
      let left = draw() * items.reduce((sum, item) => sum + item.weight, 0);
      for (const item of items) {
        left -= item.weight;
        if (left < 0) return item;
      }
      const last = items.at(-1);
      if (last === undefined) throw new Error('nothing to pick from');
      return last;
    },
    branch: () => randomFrom(between(0, 2 ** 32)),
  };
}
