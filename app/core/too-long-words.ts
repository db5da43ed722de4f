/** What is said of a prompt that is too long, and what helps against it. */
import { allowedPlacements } from './placement.ts';
import { contextFor, slotContext } from './prompt.ts';
import { refusal } from './refuse.ts';
import type { Overflow, Refusal } from './request.ts';
import type { State } from './state.ts';
import { tooLongEverywhere } from './suited.ts';
import type { Problem } from './types.ts';

const CODE = 'context_exceeded';

/**
 * Tokens of the largest slot as configured, where the prompt is too long only since the model was cut down after the
 * GPU ran out of memory: a restart takes it back. Null: it is too long for what is configured too.
 */
export function wholeContext(state: State, name: string, tokens: number): number | null {
  const model = state.configured?.models.get(name);
  if (model === undefined || tooLongEverywhere(model, tokens) !== null) return null;
  const profiles = allowedPlacements(model).flatMap((placement) => model.profiles[placement] ?? []);
  return Math.max(...profiles.map(slotContext));
}

/** The end of a request whose prompt fits nowhere. */
export function tooLong(state: State, model: string, overflow: Overflow): Refusal {
  const { tokens, context } = overflow;
  const whole = wholeContext(state, model, tokens);
  // llama-server's own words, which clients look for.
  const words = `request (${tokens} tokens) exceeds the available context size (${context} tokens)`;
  const advice =
    whole === null
      ? ', try increasing it'
      : `. ${model} was cut down after the GPU ran out of memory: restart ${model} for the configured ${whole} tokens`;
  return { ...refusal(CODE, words + advice), overflow };
}

export function tooLongProblem(state: State, model: string, { tokens, context }: Overflow): Problem {
  const whole = wholeContext(state, model, tokens);
  const wanted = contextFor(tokens);
  return {
    code: CODE,
    model,
    text: `A request to ${model} has ${tokens} tokens, and ${model} takes fewer than ${context}.`,
    fix:
      whole === null
        ? `Set models.${model}.context to at least ${wanted}, or models.${model}.cpu.context for the CPU alone, or send less.`
        : `Restart ${model} to go back to the configured ${whole} tokens: it was cut down after the GPU ran out of memory. Or send less.`,
    params: { tokens, context, wanted, ...(whole === null ? {} : { whole }) },
  };
}
