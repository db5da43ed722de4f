/** Where a text that was forwarded may go on. */
import type { Instance } from './instance.ts';
import { inService } from './placement.ts';
import type { Continuation, Request } from './request.ts';
import type { State } from './state.ts';
import type { Now } from './types.ts';

/** What may go on with a text of this instance; null: nothing may. */
export function continuationOf(
  state: State,
  request: Request,
  instance: Instance | undefined,
  now: Now,
): Continuation | null {
  const resume = state.policy?.failover.resume ?? 'never';
  const model = state.policy?.models.get(request.model);
  if (resume === 'never' || instance === undefined || model === undefined) return null;
  if (resume === 'any') return { file: null };
  const { file, placement } = instance.profile;
  const others = inService(state, model, now.mono).filter((other) => other !== placement);
  const same = others.some((other) => model.profiles[other]?.file === file);
  return same || others.length === 0 ? { file } : null;
}
