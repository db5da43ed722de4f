/** Gives back to the machine what a burst of work, or the start, made the program take. */

/** What is worth a collection (bytes). */
const WORTH = 8 * 1024 * 1024;
/** Between two looks (ms). */
export const LOOK_EACH = 10_000;
/** Looks in a row without a request: two minutes. */
const CALM = 12;

export interface TidyParts {
  /** No request waits or runs. */
  isIdle(): boolean;
  /** Memory that the program holds (bytes). */
  held(): number;
  /** Collects all that can be, and gives it back; resolves when it is done. */
  collect(): Promise<void>;
}

/**
 * Returns what is called every `LOOK_EACH`, first when the start is over: what that left goes at the first look without
 * a request. V8 gives memory back only when it needs some, so a program that rests would keep the most that it ever
 * took. To collect all stops everything for a tenth of a second and drops compiled code, which costs the next
 * thousands of requests a third more: so it waits until nobody has asked for a while, and there is something to be had.
 */
export function tidying({ isIdle, held, collect }: TidyParts): () => Promise<void> {
  let calm = CALM - 1;
  let after = 0;
  return async () => {
    calm = isIdle() ? calm + 1 : 0;
    if (calm < CALM) return;
    calm = 0;
    if (held() - after < WORTH) return;
    await collect();
    after = held();
  };
}
