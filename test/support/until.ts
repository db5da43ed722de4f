/** Waiting, in tests, for what has no event of its own. */
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';

/** Longer than anything that a test waits for takes on a busy machine of two cores. */
export const PATIENCE_MS = 120_000;
/** What is a few turns away is seen at once. */
const EAGER_MS = 20;
/** Then seldom enough that the asking takes no core from what is waited for. */
const EVERY_MS = 10;

/**
 * Asks again and again until it holds, giving way to everything else in between.
 * @throws Error with the question, when it does not hold in two minutes: a run that never ends says nothing
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const began = performance.now();
  while (!(await holds())) {
    const waited = performance.now() - began;
    if (waited > PATIENCE_MS) throw new Error(`not so within ${PATIENCE_MS / 1000} s: ${holds}`);
    await (waited < EAGER_MS ? turn() : pause(EVERY_MS));
  }
}
