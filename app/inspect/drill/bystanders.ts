/** Containers of others before and after a drill, compared by id and start time. Pure. */
import type { DrillReport } from '../../core/drill-report.ts';
import type { OtherContainer } from '../../ports/drills.ts';

/**
 * Changed: what died by a kill or for lack of memory, or was started again. What somebody stopped or removed
 * in an orderly way meanwhile is told, and is no fault of the drill; nor are instances of another home, which
 * its own controller starts and ends.
 */
export function compareOthers(
  before: readonly OtherContainer[],
  after: readonly OtherContainer[],
): DrillReport['others'] {
  const now = new Map(after.map((other) => [other.container, other]));
  const watched = before.filter(({ running, ofAnotherHome }) => running && !ofAnotherHome);
  const changed = watched.flatMap((other) => {
    const what = difference(other, now.get(other.container));
    return what === null ? [] : [{ name: other.name, ...what }];
  });
  return {
    compared: watched.length,
    untouched: !changed.some(({ harm }) => harm),
    changed: changed.map(({ name, what }) => ({ name, what })),
  };
}

const KILLED = 137;

function difference(
  before: OtherContainer,
  after: OtherContainer | undefined,
): { readonly what: string; readonly harm: boolean } | null {
  if (after === undefined) return { what: 'was removed by somebody else', harm: false };
  if (after.oomKilled && !before.oomKilled) return { what: 'ran out of memory', harm: true };
  if (after.startedAt !== before.startedAt) return { what: 'was started again', harm: true };
  if (after.running) return null;
  const harm = after.exitCode === KILLED;
  return { what: `ended with exit code ${after.exitCode}`, harm };
}
