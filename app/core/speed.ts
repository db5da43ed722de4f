/** Speeds of a profile, learned from the measurements that llama-server sends with its answers. */

import { movingAverage } from './moving-average.ts';
import type { Profile } from './types.ts';

/** Tokens a second; null: not learned yet. */
export interface Speed {
  readonly prompt: number | null;
  readonly generation: number | null;
}

/** llama-server's own measurements of one answer; null: not told. */
export interface Timings {
  /** Prompt tokens that were read, without those from its cache. */
  readonly promptTokens: number | null;
  readonly promptMs: number | null;
  /** Prompt tokens that its cache had. */
  readonly cachedTokens?: number | null;
  readonly tokens: number | null;
  readonly tokensMs: number | null;
  /** Tokens of an answer that the model ended by itself; null: it was cut, or that is not told. */
  readonly answerTokens?: number | null;
}

export const UNKNOWN_SPEED: Speed = { prompt: null, generation: null };

/** As the profile has shown it itself; until then as the whole one did, where it was cut down. */
export function speedOf(
  speeds: ReadonlyMap<string, Speed>,
  { hash, wholeHash }: Pick<Profile, 'hash' | 'wholeHash'>,
): Speed {
  const own = speeds.get(hash) ?? UNKNOWN_SPEED;
  const whole = (wholeHash === undefined ? undefined : speeds.get(wholeHash)) ?? UNKNOWN_SPEED;
  return { prompt: own.prompt ?? whole.prompt, generation: own.generation ?? whole.generation };
}

/** Shorter prompts and answers say more about overhead than about speed. */
const ENOUGH_TOKENS = 16;

/** The moving average with one more answer in it; `before` itself where that says nothing. */
export function learned(before: Speed, { promptTokens, promptMs, tokens, tokensMs }: Timings): Speed {
  const prompt = blend(before.prompt, promptTokens, promptMs);
  const generation = blend(before.generation, tokens, tokensMs);
  if (prompt === before.prompt && generation === before.generation) return before;
  return { prompt, generation };
}

/** Share of the prompt that was read; null where the answer does not tell, or the prompt was too short to. */
export function readShare({ promptTokens, cachedTokens }: Timings): number | null {
  if (promptTokens === null || cachedTokens === null || cachedTokens === undefined) return null;
  const all = promptTokens + cachedTokens;
  return all < ENOUGH_TOKENS ? null : promptTokens / all;
}

function blend(before: number | null, tokens: number | null, ms: number | null): number | null {
  if (tokens === null || ms === null || tokens < ENOUGH_TOKENS || ms <= 0) return before;
  return movingAverage(before, (tokens * 1000) / ms);
}
