/** Strikes at random until the time is over. */
import type { Random } from '../random.ts';
import { FAULTS, type Fault, type Victims } from './faults.ts';

export interface Strike {
  readonly fault: string;
  readonly hit: string;
  /** Milliseconds, as in the transcripts. */
  readonly from: number;
  readonly to: number;
}

/** Between two strikes, in milliseconds: often in the middle of a recovery, sometimes after it. */
const PAUSE = [300, 6000] as const;

/**
 * @param until milliseconds of `performance.now()`
 * @param told each strike as it is over
 */
export async function strikeUntil(
  until: number,
  victims: Victims,
  random: Random,
  told: (strike: Strike) => void,
): Promise<readonly Strike[]> {
  const strikes: Strike[] = [];
  // Each fault once, in some order, before chance decides: a short run misses none.
  const first = shuffled(FAULTS, random);
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, random.between(...PAUSE)));
    const fault = first.pop() ?? random.weighted(FAULTS);
    const from = performance.now();
    const hit = await fault.strike(victims, random.branch());
    if (hit === null) continue;
    const strike = { fault: fault.name, hit, from, to: performance.now() };
    strikes.push(strike);
    told(strike);
  }
  return strikes;
}

function shuffled(faults: readonly Fault[], random: Random): Fault[] {
  const rest = [...faults];
  const order: Fault[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.between(0, rest.length), 1));
  return order;
}
