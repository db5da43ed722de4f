import { setTimeout as pause } from 'node:timers/promises';
import type { Docker } from '../lib/docker.ts';
import type { ControllerApi } from './api.ts';
import { controllerLog, findController } from './container.ts';

const readyDeadlineMs = 60_000;
const reloadDeadlineMs = 15_000;

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

/** Waits until a reload after the fact with this number is told. */
export async function untilReloaded(docker: Docker, api: ControllerApi, seq: number): Promise<void> {
  const deadline = performance.now() + reloadDeadlineMs;
  while (!(await reloadedSince(api, seq))) {
    if (performance.now() > deadline) {
      throw new Error(`the configuration was not taken:\n${await controllerLog(docker)}`);
    }
    await pause(100);
  }
}

/** A reload may change the admin token: until then the new one is refused. */
async function reloadedSince(api: ControllerApi, seq: number): Promise<boolean> {
  return api.eventsAfter(seq).then(
    (events) => events.some((event) => event.type === 'config_reloaded'),
    () => false,
  );
}
