/**
 * Ends and removes containers: done is only what is gone.
 */
import { AppError } from '../../errors.ts';
import type { EngineContext } from './context.ts';
import { dockerError } from './docker-error.ts';
import { pause } from './pause.ts';
import type { Entry } from './registry.ts';
import { notStarted, StartEnded } from './registry.ts';

/** Between two tries of a removal that Docker refused. */
const RETRY = 250;

/**
 * A container that the engine no longer has is gone with its cgroup: no process of it is left, and the memory
 * that it took of the host is back. Rejects with AppError `stuck`; may be called again then.
 */
export function removeInstance(context: EngineContext, entry: Entry, how: 'gentle' | 'kill'): Promise<void> {
  entry.removal ??= end(context, entry, how).finally(() => {
    entry.removal = null;
  });
  return entry.removal;
}

async function end(context: EngineContext, entry: Entry, how: 'gentle' | 'kill'): Promise<void> {
  const { registry, ports, clock } = context;
  entry.phase = 'removing';
  entry.signs = { ...entry.signs, byUs: true };
  entry.abort.abort(new StartEnded(notStarted('it was removed while it started')));
  await entry.created;
  if (entry.container !== null) {
    if (how === 'gentle') await terminate(context, entry.container);
    await removeContainer(context, entry.container);
  }
  if (entry.address !== null) ports.free(entry.address.port, clock.now().mono);
  registry.drop(entry);
}

/** A busy llama-server hangs on SIGTERM until its connections are closed, so these get a moment to be. */
async function terminate(context: EngineContext, container: string): Promise<void> {
  const { api, change, clock, timing, log } = context;
  await pause(clock, timing.beforeTerm);
  try {
    await change.kill(container, 'SIGTERM');
    const ended = await api.ended(container, 'not-running', timing.termGrace);
    if (!ended) log.warn({ container }, 'the instance did not end on SIGTERM; SIGKILL follows');
  } catch (thrown) {
    log.warn({ container, error: dockerError(thrown).message }, 'SIGTERM failed; SIGKILL follows');
  }
}

/** SIGKILL and removal, tried until it is gone; rejects with `stuck`, or `not_ours`. */
export async function removeContainer(context: EngineContext, container: string): Promise<void> {
  const { api, change, clock, timing } = context;
  const deadline = clock.now().mono + timing.removal;
  const left = () => Math.max(1, deadline - clock.now().mono);
  let detail = '';
  do {
    try {
      await change.remove(container, left());
      if ((await api.inspect(container)) === undefined) return;
      await api.ended(container, 'removed', left());
      if ((await api.inspect(container)) === undefined) return;
    } catch (thrown) {
      const error = dockerError(thrown);
      if (error.code === 'not_ours') throw error;
      detail = error.message;
    }
    await pause(clock, Math.min(RETRY, left()));
  } while (clock.now().mono < deadline);
  const text = `the container is not gone after ${timing.removal / 1000} s`;
  throw new AppError('stuck', detail === '' ? text : `${text}: ${detail}`, { details: { container } });
}
