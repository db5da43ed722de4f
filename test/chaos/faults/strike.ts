/** Strikes at random until the time is over. */
import type { Random } from '../random.ts';
import { within } from '../within.ts';
import { CUT, FAULTS, type Fault, type Victims } from './faults.ts';

export interface Strike {
  readonly fault: string;
  /** Null: there was nothing to hit. */
  readonly hit: string | null;
  /** Milliseconds, as in the transcripts. */
  readonly from: number;
  readonly to: number;
}

/** Between two strikes, in milliseconds: often in the middle of a recovery, sometimes after it. */
const PAUSE = [300, 6000] as const;
/** Longer than the engine or the controller takes to come back on a busy machine. */
const LONGEST_MS = 120_000;

/**
 * @param until milliseconds of `performance.now()`
 * @param told each strike as it is over
 * @throws Error with the fault that did not end
 */
export async function strikeUntil(
  until: number,
  victims: Victims,
  random: Random,
  told: (strike: Strike) => void,
): Promise<readonly Strike[]> {
  const strikes: Strike[] = [];
  // Each fault once, in some order, before chance decides: a short run misses none.
  const first = shuffled(FAULTS, random).flatMap((fault) => [fault, CUT]);
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, random.between(...PAUSE)));
    const fault = first.pop() ?? random.weighted([CUT, ...FAULTS]);
    const from = performance.now();
    const hit = await within(LONGEST_MS, fault.name, fault.strike(victims, random.branch()));
    const strike = { fault: fault.name, hit, from, to: performance.now() };
    told(strike);
    if (hit !== null) strikes.push(strike);
  }
  return strikes;
}

function shuffled(faults: readonly Fault[], random: Random): Fault[] {
  const rest = [...faults];
  const order: Fault[] = [];
  while (rest.length > 0) order.push(...rest.splice(random.between(0, rest.length), 1));
  return order;
}
