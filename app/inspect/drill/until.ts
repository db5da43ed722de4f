/** Waiting for the state to show something, with a bound. */
import type { DrillParts } from './parts.ts';

/** Resolves with whether `holds` became true within `ms`; asked at once and after each turn of the loop. */
export function until(
  { onTurn, clock }: Pick<DrillParts, 'onTurn' | 'clock'>,
  holds: () => boolean,
  ms: number,
): Promise<boolean> {
  if (holds()) return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (held: boolean): void => {
      off();
      disarm();
      resolve(held);
    };
    const off = onTurn(() => {
      if (holds()) end(true);
    });
    const disarm = clock.at(clock.now().mono + ms, () => end(holds()));
  });
}

export function pause({ clock }: Pick<DrillParts, 'clock'>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.at(clock.now().mono + ms, resolve);
  });
}
