/**
 * From Docker's events to reports: who died, who was paused, by whom.
 */
import type { ExitEvidence } from '../../core/types.ts';
import type { EngineContext } from './context.ts';
import { evidenceOf } from './evidence.ts';
import type { EndEvent } from './exit-signs.ts';
import { withEvent } from './exit-signs.ts';
import type { Entry } from './registry.ts';
import { StartEnded } from './registry.ts';

const HOLDER_GONE = "the container that holds the instances' network ended";

export interface Deaths {
  /** An event of an instance's container. */
  seen(entry: Entry, event: EndEvent): void;
  /** An observation found it dead, and no event had told. */
  foundDead(entry: Entry): void;
  foundPaused(entry: Entry): void;
  holderDied(holder: string): void;
}

export function deaths(context: EngineContext): Deaths {
  const concluding = new Set<Entry>();

  function tell(entry: Entry, evidence: ExitEvidence): void {
    if (entry.phase === 'removing' || entry.exitTold) return;
    entry.exitTold = true;
    if (entry.phase === 'starting') entry.abort.abort(new StartEnded(evidence));
    else context.report({ type: 'instance_exited', instance: entry.instance, evidence });
  }

  async function conclude(entry: Entry): Promise<void> {
    if (entry.phase === 'removing' || entry.exitTold || concluding.has(entry)) return;
    concluding.add(entry);
    const evidence = await evidenceOf(context, entry);
    concluding.delete(entry);
    tell(entry, evidence);
  }

  function paused(entry: Entry): void {
    if (entry.phase === 'removing' || entry.pauseTold) return;
    entry.pauseTold = true;
    if (entry.phase === 'ready') context.report({ type: 'instance_paused', instance: entry.instance });
    else tell(entry, outside(true, 'it was paused while it started'));
  }

  return {
    seen(entry, event) {
      entry.signs = withEvent(entry.signs, event);
      if (event.action === 'pause') paused(entry);
      else if (event.action === 'die' || event.action === 'destroy') void conclude(entry);
      else if (entry.signs.byOthers && entry.phase === 'ready') tell(entry, outside(true, null));
    },
    foundDead: (entry) => void conclude(entry),
    foundPaused: paused,
    holderDied(holder) {
      for (const entry of context.registry.all()) {
        if (entry.holder === holder) tell(entry, outside(true, HOLDER_GONE));
      }
    },
  };
}

/** Somebody else did it, and Docker told; it may still run for a moment. */
function outside(running: boolean, error: string | null): ExitEvidence {
  return { running, exitCode: null, oomKilled: false, killedOutside: true, error, log: [] };
}
