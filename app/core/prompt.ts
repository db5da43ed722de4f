/** How long a prompt is, in tokens: by its bytes until an instance has counted it. */
import type { Request } from './request.ts';
import type { Model, Profile } from './types.ts';

/** English prose has 4 to 5 bytes a token, code and other languages 2 to 4. */
const USUAL_BYTES = 4;
/** Hardly any text has fewer. */
const LEAST_BYTES = 2;
/** llama.cpp rounds each slot's context up to this. */
const CONTEXT_STEP = 256;

/** Tokens that the prompt probably has; null: nothing is known of it. */
export function likelyTokens({ tokens, promptBytes }: Request): number | null {
  if (tokens !== null) return tokens;
  return promptBytes === null ? null : Math.ceil(promptBytes / USUAL_BYTES);
}

/** Tokens of a slot as llama-server makes them: 300 wanted are 512. */
export function slotContext({ context }: Pick<Profile, 'context'>): number {
  return Math.ceil(context / CONTEXT_STEP) * CONTEXT_STEP;
}

/** llama-server takes a prompt only where at least one more token has room. */
export function fitsContext(tokens: number, profile: Pick<Profile, 'context'>): boolean {
  return tokens < slotContext(profile);
}

/** The context to configure for a prompt of so many tokens and an answer: in whole thousands (1024). */
export function contextFor(tokens: number): number {
  return Math.ceil((tokens + 512) / 1024) * 1024;
}

/** Tokens of a slot on the placement that has the fewest. */
export function smallestContext(model: Model): number {
  return Math.min(...Object.values(model.profiles).map(slotContext));
}

/** By its bytes it may be too long for so many tokens. */
export function mayExceed({ promptBytes }: Request, context: number): boolean {
  return promptBytes !== null && promptBytes / LEAST_BYTES >= context;
}
