/**
 * Keeps facts on the disk, and remembers what the disk refused until it takes it. While it refuses it is
 * left alone but for a try every ten seconds.
 */
import type { Fact } from '../core/facts.ts';
import type { Problem } from '../core/types.ts';
import { AppError } from '../errors.ts';
import { openSegments, type Segments } from './segments.ts';
import type { EventLogLimits, EventLogOptions } from './types.ts';

/** How long to leave a disk alone that refused a write, ms. */
const RETRY = 10_000;

export interface Keeper {
  /** `kept`: durable. `began`: the disk refuses from now on. `refuses`: it still does. */
  keep(facts: readonly Fact[]): Promise<'kept' | 'began' | 'refuses'>;
  /** Facts that were told though they are not durable; they are written when the disk takes them. */
  owe(facts: readonly Fact[]): void;
  refusing(): boolean;
  read(since: number, limit: number): Promise<readonly Fact[]>;
  /** Number of the oldest fact on the disk; null: none, or it cannot be read. */
  oldest(): number | null;
  close(): Promise<void>;
}

/** `again` is called when it is time to try the disk once more. */
export async function openKeeper(
  options: EventLogOptions,
  limits: EventLogLimits,
  again: () => void,
): Promise<{ readonly keeper: Keeper; readonly newest: readonly Fact[] }> {
  try {
    const { segments, newest } = await openSegments(options.folder, limits, options.notice);
    return { keeper: makeKeeper(options, limits, again, segments), newest };
  } catch (thrown) {
    return { keeper: makeKeeper(options, limits, again, null, AppError.from(thrown).message), newest: [] };
  }
}

function makeKeeper(
  options: EventLogOptions,
  limits: EventLogLimits,
  again: () => void,
  opened: Segments | null,
  failure: string | null = null,
): Keeper {
  const { clock } = options;
  let segments = opened;
  let owed: readonly Fact[] = [];
  let refusing = false;
  let retryAt = 0;
  let cancelRetry = () => {};

  const refused = (cause: string): 'began' | 'refuses' => {
    retryAt = clock.now().mono + RETRY;
    cancelRetry();
    cancelRetry = clock.at(retryAt, again);
    if (refusing) return 'refuses';
    refusing = true;
    options.problem(notKept(cause));
    return 'began';
  };
  if (failure !== null) refused(failure);
  return {
    keep: async (facts) => {
      if (refusing && clock.now().mono < retryAt) return 'refuses';
      try {
        segments ??= (await openSegments(options.folder, limits, options.notice)).segments;
        await segments.append([...owed, ...facts], clock.now().wall);
      } catch (thrown) {
        return refused(AppError.from(thrown).message);
      }
      owed = [];
      if (refusing) options.problemGone('events_not_kept');
      refusing = false;
      cancelRetry();
      return 'kept';
    },
    owe: (facts) => {
      owed = [...owed, ...facts].slice(-limits.ring);
    },
    refusing: () => refusing,
    read: async (since, limit) => (segments === null ? [] : segments.read(since, limit)),
    oldest: () => segments?.oldest() ?? null,
    close: async () => {
      cancelRetry();
      // One last try; it was told already that they may be forgotten.
      if (owed.length > 0) await segments?.append(owed, clock.now().wall).catch(() => undefined);
      await segments?.close();
    },
  };
}

function notKept(cause: string): Problem {
  return {
    code: 'events_not_kept',
    text: `Events cannot be written to the state folder (${cause}). They are told, but will be forgotten at a restart.`,
    fix: 'Make room on the disk of the state folder, and see that it can be written.',
    params: { cause },
  };
}
