/**
 * How long an attempt may take until its first content, and what is learned of a placement's speed for it.
 */
import type { Placement } from '../../../core/types.ts';
import type { AttemptMeasurement } from '../../../ports.ts';

const LEAST_MS = 30_000;
const UNKNOWN_MS = 600_000;
/** Tokens a second that even the slowest useful machine generates. */
const SLOWEST = 1;
const MARGIN = 3;

/** Tokens a second; null: not learned yet. */
export interface Speed {
  readonly prompt: number | null;
  readonly generation: number | null;
}

export interface BudgetInput {
  readonly setting: number | 'auto';
  readonly placement: Placement;
  readonly speed: Speed;
  /** Prompt tokens to read, known or estimated. */
  readonly promptTokens: number;
  /** Tokens to generate before anything is seen: 0 for a stream, the most that a whole answer may have. */
  readonly tokens: number;
}

/**
 * Milliseconds until the first content. `auto`: the larger of 30 s and 3 times prompt tokens / learned
 * speed; without a figure 10 minutes; Infinity on the CPU. A whole answer shows nothing before its end, so
 * its generation is added.
 */
export function firstContentMs(input: BudgetInput): number {
  if (input.setting === 'auto' && input.placement === 'cpu') return Number.POSITIVE_INFINITY;
  const generation = (MARGIN * 1000 * input.tokens) / (input.speed.generation ?? MARGIN * SLOWEST);
  if (input.setting !== 'auto') return input.setting + generation;
  if (input.speed.prompt === null) return UNKNOWN_MS + generation;
  return Math.max(LEAST_MS, (MARGIN * 1000 * input.promptTokens) / input.speed.prompt) + generation;
}

export interface Speeds {
  of(model: string, placement: Placement): Speed;
  learn(measurement: AttemptMeasurement): void;
}

const WEIGHT = 0.3;
/** Shorter prompts and answers say more about overhead than about speed. */
const ENOUGH_TOKENS = 16;
const NOTHING: Speed = { prompt: null, generation: null };

/** Moving averages by model and placement. */
export function speeds(): Speeds {
  const known = new Map<string, { prompt: number | null; generation: number | null }>();
  return {
    of: (model, placement) => known.get(`${placement} ${model}`) ?? NOTHING,
    learn({ model, placement, promptTokens, promptMs, tokens, tokensMs }) {
      const key = `${placement} ${model}`;
      const before = known.get(key) ?? NOTHING;
      known.set(key, {
        prompt: blend(before.prompt, promptTokens, promptMs),
        generation: blend(before.generation, tokens, tokensMs),
      });
    },
  };
}

function blend(before: number | null, tokens: number | null, ms: number | null): number | null {
  if (tokens === null || ms === null || tokens < ENOUGH_TOKENS || ms <= 0) return before;
  const speed = (tokens * 1000) / ms;
  return before === null ? speed : before + WEIGHT * (speed - before);
}
