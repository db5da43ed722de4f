/** Waiting for what has no event of its own. */
import type { Controller } from './controller.ts';

/** Waits until the request holds a lease, and its backend has begun. */
export async function running(controller: Controller, id: string): Promise<void> {
  await until(async () =>
    (await controller.state()).requests.some((request) => request.id === id && request.phase === 'running'),
  );
}

/** Asks again and again; the test's own time limit is the bound. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}
