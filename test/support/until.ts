/** Waiting, in tests, for what has no event of its own. */

/** Longer than anything that a test waits for takes on a busy machine of two cores. */
const PATIENCE_MS = 120_000;

/**
 * Asks again and again until it holds, giving way to everything else in between.
 * @throws Error with the question, when it does not hold in two minutes: a run that never ends says nothing
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > limit) throw new Error(`not so within ${PATIENCE_MS / 1000} s: ${holds}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
