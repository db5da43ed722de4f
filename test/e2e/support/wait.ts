import { until } from '../../support/until.ts';
import type { Controller } from './controller.ts';

/** Waits until the request holds a lease, and its backend has begun. */
export async function running(controller: Controller, id: string): Promise<void> {
  await until(async () =>
    (await controller.state()).requests.some((request) => request.id === id && request.phase === 'running'),
  );
}
