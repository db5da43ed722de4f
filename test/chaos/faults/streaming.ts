/** Which instance is in the middle of a long text now. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Controller } from '../../e2e/support/controller.ts';
import type { Live } from '../clients/client.ts';

/** A moment in which no text runs is no reason to wait for long. */
const PATIENCE_MS = 4_000;
const LOOK_MS = 20;

/**
 * @param unfinished the requests that run
 * @param pieces of text that must have come
 * @returns the instance's container; null: there was none for a while
 */
export async function streamingInstance(
  home: Pick<Controller, 'state' | 'container'>,
  unfinished: () => readonly Live[],
  pieces: number,
): Promise<string | null> {
  const end = performance.now() + PATIENCE_MS;
  while (performance.now() < end) {
    // What was continued once ends with an error when it is cut again.
    const begun = unfinished().filter(
      (one) => one.plan.kind === 'story' && one.pieces >= pieces && !one.moved,
    );
    const found = begun.length === 0 ? null : await streamingOne(home, begun);
    if (found !== null) return found;
    await pause(LOOK_MS);
  }
  return null;
}

/** Null: it went meanwhile, or the controller did. */
async function streamingOne(
  home: Pick<Controller, 'state' | 'container'>,
  begun: readonly Live[],
): Promise<string | null> {
  try {
    const { requests } = await home.state();
    for (const { id, phase, model, placement } of requests) {
      if (phase !== 'running' || placement === null) continue;
      if (!begun.some((one) => one.id === id)) continue;
      return await home.container(model, placement);
    }
    return null;
  } catch {
    return null;
  }
}
