/**
 * Deliberate failures of an instance of ours, as a drill asks for them.
 */
import { AppError } from '../../errors.ts';
import type { Harm } from '../../ports/drills.ts';
import type { EngineContext } from './context.ts';
import { refusedWith } from './docker-error.ts';
import { untilFrozen } from './freeze.ts';

const MIB = 1024 * 1024;
/** Left to a starved program: its next larger piece of work takes more. */
const SPARE = 2 * MIB;
/** A cgroup of version 1 takes no limit below what is used, and gives pages back only bit by bit. */
const TRIES = 6;

/** Throws `not_possible` where the engine refuses. */
export async function harm(context: EngineContext, container: string, how: Harm): Promise<void> {
  const { change } = context;
  try {
    if (how === 'kill') await change.kill(container, 'SIGKILL');
    else if (how === 'pause') await untilFrozen(() => change.pause(container));
    else await starve(context, container);
  } catch (thrown) {
    if (refusedWith(thrown) === undefined) throw thrown;
    throw new AppError('not_possible', AppError.from(thrown).message, { cause: thrown });
  }
}

/** The limit goes as low as the engine takes it: to what the program uses now. */
async function starve({ api, change }: EngineContext, container: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { usage = 0, stats } = (await api.stats(container)).memory_stats;
    const files = stats?.['total_inactive_file'] ?? stats?.['inactive_file'] ?? 0;
    // First without the file pages that the kernel can drop, then with a part of them, in the end with all.
    const bytes = usage - Math.floor((files * (TRIES - tries)) / (TRIES - 1)) + SPARE;
    try {
      await change.limitMemory(container, bytes);
      return;
    } catch (thrown) {
      if (tries === TRIES || refusedWith(thrown) === undefined) throw thrown;
    }
  }
}
