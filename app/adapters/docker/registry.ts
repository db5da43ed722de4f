/**
 * The instances that this process has on one engine, and what is known of each.
 */
import type { InstanceId } from '../../core/request.ts';
import type { ExitEvidence, Task } from '../../core/types.ts';
import type { InstanceAddress } from '../../ports.ts';
import type { ExitSigns } from './exit-signs.ts';
import { NO_SIGNS } from './exit-signs.ts';

export interface Entry {
  readonly instance: InstanceId;
  readonly task: Task;
  /** Known before the container is: an observation may see it before its creation was answered. */
  name: string | null;
  container: string | null;
  holder: string | null;
  address: InstanceAddress | null;
  phase: 'starting' | 'ready' | 'removing';
  signs: ExitSigns;
  /** Its end was reported. */
  exitTold: boolean;
  pauseTold: boolean;
  /** Docker's own error at create or start. */
  error: string | null;
  /** Ends a start or an adoption; the reason is a `StartEnded`. */
  readonly abort: AbortController;
  /** Settles when no more container will be made for it. */
  created: Promise<unknown>;
  removal: Promise<void> | null;
}

/** Why a start or an adoption is over before it was done. */
export class StartEnded extends Error {
  readonly evidence: ExitEvidence;
  constructor(evidence: ExitEvidence) {
    super(evidence.error ?? 'ended');
    this.evidence = evidence;
  }
}

export interface Registry {
  add(instance: InstanceId, task: Task): Entry;
  get(instance: InstanceId): Entry | undefined;
  /** By container id, or by name while the id is not known yet. */
  find(container: string, names: readonly string[]): Entry | undefined;
  all(): readonly Entry[];
  drop(entry: Entry): void;
}

export function registry(): Registry {
  const entries = new Map<InstanceId, Entry>();
  return {
    add(instance, task) {
      const entry: Entry = {
        instance,
        task,
        name: null,
        container: null,
        holder: null,
        address: null,
        phase: 'starting',
        signs: NO_SIGNS,
        exitTold: false,
        pauseTold: false,
        error: null,
        abort: new AbortController(),
        created: Promise.resolve(),
        removal: null,
      };
      entries.set(instance, entry);
      return entry;
    },
    get: (instance) => entries.get(instance),
    find(container, names) {
      for (const entry of entries.values()) {
        if (entry.container === container) return entry;
        if (entry.container === null && entry.name !== null && names.includes(entry.name)) return entry;
      }
      return undefined;
    },
    all: () => [...entries.values()],
    drop(entry) {
      if (entries.get(entry.instance) === entry) entries.delete(entry.instance);
    },
  };
}

/** Evidence of something that never ran. */
export function notStarted(error: string): ExitEvidence {
  return { running: false, exitCode: null, oomKilled: false, killedOutside: false, error, log: [] };
}
