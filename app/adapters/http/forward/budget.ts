/** How long an attempt may take until its first content. */
import type { Speed } from '../../../core/speed.ts';
import type { Placement } from '../../../core/types.ts';

const LEAST_MS = 30_000;
const UNKNOWN_MS = 600_000;
/** Tokens a second that even the slowest useful machine generates. */
const SLOWEST = 1;
const MARGIN = 3;

export interface BudgetInput {
  readonly setting: number | 'auto';
  readonly placement: Placement;
  readonly speed: Speed;
  /** Prompt tokens to read, known or estimated. */
  readonly promptTokens: number;
  /** Of other prompts that the instance reads before this one, or in turn with it; estimated. */
  readonly aheadTokens: number;
  /** Tokens to generate before anything is seen: 0 for a stream, the most that a whole answer may have. */
  readonly tokens: number;
}

/**
 * Milliseconds until the first content. `auto`: the larger of 30 s and 3 times prompt tokens / learned
 * speed, and as much for the tokens of the prompts that it has to wait for; without a figure 10 minutes; Infinity on
 * the CPU. A whole answer shows nothing before its end, so its generation is added.
 */
export function firstContentMs(input: BudgetInput): number {
  if (input.setting === 'auto' && input.placement === 'cpu') return Number.POSITIVE_INFINITY;
  const generation = (MARGIN * 1000 * input.tokens) / (input.speed.generation ?? MARGIN * SLOWEST);
  if (input.setting !== 'auto') return input.setting + generation;
  if (input.speed.prompt === null) return UNKNOWN_MS + generation;
  const perToken = (MARGIN * 1000) / input.speed.prompt;
  return Math.max(LEAST_MS, perToken * input.promptTokens) + perToken * input.aheadTokens + generation;
}
