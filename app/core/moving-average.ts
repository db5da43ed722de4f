/** Weight of the newest measurement. */
const WEIGHT = 0.3;

/** Exponentially weighted moving average: before + 0.3 (measured - before); the first value as it is. */
export function movingAverage(before: number | null | undefined, measured: number): number {
  return before === null || before === undefined ? measured : before + WEIGHT * (measured - before);
}
