/** A bound in time for work that has none of its own. */
import type { Clock } from './ports.ts';

/** The value, or null where it takes longer than `ms`. Rejects as the work does. */
export async function within<T>(
  { clock }: { readonly clock: Clock },
  work: Promise<T>,
  ms: number,
): Promise<T | null> {
  let disarm = (): void => {};
  const late = new Promise<null>((resolve) => {
    disarm = clock.at(clock.now().mono + ms, () => resolve(null));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    disarm();
  }
}
