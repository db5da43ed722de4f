/** Clean-up of a test in the reverse order of its making; all of it, whatever fails. */
import type { TestContext } from 'node:test';

export type Defer = (clean: () => Promise<unknown>) => void;

export function deferred(t: TestContext): Defer {
  const cleaners: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    const failures: unknown[] = [];
    for (const clean of cleaners.reverse()) await clean().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw new AggregateError(failures, 'the clean-up failed');
  });
  return (clean) => cleaners.push(clean);
}
