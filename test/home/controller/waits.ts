import { setTimeout as pause } from 'node:timers/promises';
import type { Docker } from '../lib/docker.ts';
import type { ControllerApi, ControllerState } from './api.ts';
import { controllerLog, findController } from './container.ts';

const readyDeadlineMs = 60_000;
const reloadDeadlineMs = 10_000;

/** Waits until /readyz says yes. Throws with the reason and the log's end, at once when the container has ended. */
export async function untilReady(docker: Docker, api: ControllerApi): Promise<void> {
  const deadline = performance.now() + readyDeadlineMs;
  for (;;) {
    const why = await api.notReady();
    if (why === undefined) return;
    const found = await findController(docker);
    if (found?.running !== true) throw new Error(`it ended:\n${await controllerLog(docker)}`);
    if (performance.now() > deadline) {
      throw new Error(`not ready: ${why}\nits log:\n${await controllerLog(docker)}`);
    }
    await pause(100);
  }
}

/**
 * Waits until a reload since `before` is told, or the new configuration is refused. Throws when neither comes.
 */
export async function untilReloaded(
  docker: Docker,
  api: ControllerApi,
  before: ControllerState,
): Promise<void> {
  const deadline = performance.now() + reloadDeadlineMs;
  while (!(await settledSince(api, before))) {
    if (performance.now() > deadline) {
      throw new Error(`the configuration was not taken:\n${await controllerLog(docker)}`);
    }
    await pause(50);
  }
}

/** A reload may change the admin token: until then the new one is refused. */
async function settledSince(api: ControllerApi, before: ControllerState): Promise<boolean> {
  try {
    const refusal = invalidConfig(await api.state());
    if (refusal !== undefined && refusal !== invalidConfig(before)) return true;
    return (await api.eventsAfter(before.seq)).some((event) => event.type === 'config_reloaded');
  } catch {
    return false;
  }
}

/** Throws with the controller's own words where it goes on with an earlier configuration. */
export function refuseInvalid(state: ControllerState): void {
  const refusal = invalidConfig(state);
  if (refusal !== undefined) throw new Error(refusal);
}

function invalidConfig(state: ControllerState): string | undefined {
  return state.problems.find((problem) => problem.code === 'config_invalid')?.text;
}
