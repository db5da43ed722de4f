/** What answers teach of a model, and what of it is shown. */
import type { Decision } from './changes.ts';
import type { Instance } from './instance.ts';
import { learned, readShare, type Speed, speedOf, type Timings, UNKNOWN_SPEED } from './speed.ts';
import type { State } from './state.ts';
import type { Model, Placement } from './types.ts';
import type { ModelView } from './view.ts';

/** `instance`: it measured the answer. */
export function learn(out: Decision, state: State, instance: Instance, timings: Timings): void {
  const { model, placement, profile } = instance;
  const { hash } = profile;
  const before = state.speeds.get(hash) ?? UNKNOWN_SPEED;
  const speed = learned(before, timings);
  if (speed !== before) out.changes.push({ type: 'speed_learned', hash, speed });
  const share = readShare(timings);
  if (share !== null) out.changes.push({ type: 'share_learned', model, placement, share });
  const tokens = timings.answerTokens ?? null;
  if (tokens !== null) out.changes.push({ type: 'length_learned', model, tokens });
}

/** Tokens a second to a tenth, tokens as whole ones. */
export function learnedView(state: State, model: Model): Pick<ModelView, 'tokensPerSecond' | 'answerTokens'> {
  const tokensPerSecond: Partial<Record<Placement, Speed>> = {};
  for (const profile of Object.values(model.profiles)) {
    const { prompt, generation } = speedOf(state.speeds, profile);
    if (prompt === null && generation === null) continue;
    tokensPerSecond[profile.placement] = { prompt: tenths(prompt), generation: tenths(generation) };
  }
  const answerTokens = state.answerTokens.get(model.name);
  return { tokensPerSecond, answerTokens: answerTokens === undefined ? null : Math.round(answerTokens) };
}

function tenths(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}
