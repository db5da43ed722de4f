/**
 * Gathers what is known of a container that ended, or of one that does not do what it should.
 */
import type { ExitEvidence } from '../../core/types.ts';
import type { EngineContext } from './context.ts';
import { dockerError, isUnreachable } from './docker-error.ts';
import { isSettled, judge } from './exit-signs.ts';
import { allLines, redacted } from './log-text.ts';
import { pause } from './pause.ts';
import type { Entry } from './registry.ts';
import { notStarted } from './registry.ts';

/** Lines of the log that are looked at. */
const LOG_LINES = 40;
/** `oom` and `kill` events come within so long of `die` (11 to 160 ms measured). */
const SETTLE = 160;
/** A dying container is given so long to be dead. */
const DYING = 500;

/** Never rejects: what can't be read is left out. */
export async function evidenceOf(context: EngineContext, entry: Entry): Promise<ExitEvidence> {
  const { container } = entry;
  if (container === null) return notStarted(entry.error ?? 'no container was made');
  if (entry.signs.diedAt !== null && !isSettled(entry.signs)) await pause(context.clock, SETTLE);
  try {
    const [found, log] = await Promise.all([
      context.api.inspect(container),
      context.api.tail(container, LOG_LINES),
    ]);
    const running = found?.State.Running ?? false;
    const dead =
      found === undefined || running || found.State.Status === 'created'
        ? null
        : { exitCode: found.State.ExitCode, oomKilled: found.State.OOMKilled ?? false };
    return {
      running,
      ...judge(entry.signs, dead),
      error: entry.error ?? stateError(found?.State.Error),
      log: redacted(allLines(log), entry.address?.key),
    };
  } catch (thrown) {
    const seen = dockerError(thrown);
    const error = entry.error ?? `the engine could not be asked: ${seen.message}`;
    const unknown = { running: false, ...judge(entry.signs, null), error, log: [] };
    return isUnreachable(seen) ? { ...unknown, engineAway: true } : unknown;
  }
}

/** As `evidenceOf`, but waits a moment for the end of one that is dying. */
export async function examined(context: EngineContext, entry: Entry): Promise<ExitEvidence> {
  if (entry.container !== null && entry.signs.diedAt === null) {
    const ended = await context.api.ended(entry.container, 'not-running', DYING).catch(() => false);
    // Its events are on their way.
    if (ended && entry.signs.diedAt === null) await pause(context.clock, SETTLE);
  }
  return evidenceOf(context, entry);
}

function stateError(error: string | undefined): string | null {
  return error === undefined || error === '' ? null : error;
}
