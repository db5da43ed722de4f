/**
 * Which placements can take a request: its prompt has to fit into their context, and the CPU has to have read it
 * within the request's time.
 */
import { hasFreeSlot } from './instance.ts';
import { allowedPlacements, choices } from './placement.ts';
import { fitsContext, likelyTokens, slotContext } from './prompt.ts';
import type { Request } from './request.ts';
import { speedOf } from './speed.ts';
import { instancesOf, type State } from './state.ts';
import type { Model, Now, Placement } from './types.ts';
import { readyInMs, serviceMs } from './waits.ts';

/** Why a placement cannot take a request, with the numbers that decide. */
export type Unsuited =
  | { readonly why: 'context'; readonly tokens: number; readonly context: number }
  | {
      readonly why: 'slow';
      readonly tokens: number;
      /** Prompt tokens a second. */
      readonly speed: number;
      /** Of the expected time: until it has a place there. */
      readonly untilSlotMs: number;
      /** Expected, and left of the request's time. */
      readonly ms: number;
      readonly leftMs: number;
    };

const NO_HISTORY = { tried: new Set<Placement>(), continues: null };

/** Null: it can. */
export function unsuited(
  state: State,
  model: Model,
  request: Request,
  placement: Placement,
  now: Now,
): Unsuited | null {
  const profile = model.profiles[placement];
  if (profile === undefined) return null;
  const { tokens } = request;
  if (tokens !== null && !fitsContext(tokens, profile)) {
    return { why: 'context', tokens, context: slotContext(profile) };
  }
  return placement === 'cpu' ? tooSlow(state, model, request, now) : null;
}

/**
 * Placements to try now for this request, best first: those of `choices` that are suited. While its prompt is not
 * counted, a placement that it probably does not fit comes after the others.
 */
export function suitedChoices(state: State, model: Model, request: Request, now: Now): Placement[] {
  const order = choices(state, model, request, now.mono).filter(
    (placement) => unsuited(state, model, request, placement, now) === null,
  );
  const tokens = likelyTokens(request);
  if (tokens === null || request.tried.size > 0) return order;
  const late = (placement: Placement): number => {
    const profile = model.profiles[placement];
    return profile === undefined || fitsContext(tokens, profile) ? 0 : 1;
  };
  return order.sort((a, b) => late(a) - late(b));
}

/**
 * The placement that failed it is back first: another try goes to another one of `order`, and that one is coming.
 */
export function waitsForUntried(
  state: State,
  model: Model,
  { tried }: Request,
  placement: Placement,
  order: readonly Placement[],
): boolean {
  if (!tried.has(placement)) return false;
  return isThere(
    state,
    model,
    order.filter((other) => !tried.has(other)),
    'starting',
  );
}

/** An instance of the model is in this phase on one of these placements. */
export function isThere(
  state: State,
  model: Model,
  placements: readonly Placement[],
  phase: 'starting' | 'ready',
): boolean {
  return instancesOf(state, model.name).some(
    (one) => one.phase.state === phase && placements.includes(one.placement),
  );
}

/**
 * The placement that requests without a history take, where its instance is there or comes; null: each of them has
 * to be looked at, since none is there, or the CPU stands in and may be too slow for some.
 */
export function usualPlacement(state: State, model: Model, now: Now): Placement | null {
  const [first] = choices(state, model, NO_HISTORY, now.mono);
  if (first === undefined || (first === 'cpu' && allowedPlacements(model)[0] !== 'cpu')) return null;
  const there = instancesOf(state, model.name).some(
    (one) => one.placement === first && one.phase.state !== 'stuck',
  );
  return there ? first : null;
}

/** Whether `suitedChoices` of this request surely begins with the usual placement. */
export function takesUsual(request: Request, model: Model, usual: Placement): boolean {
  if (request.tried.size > 0 || request.continues !== null || request.tokens !== null) return false;
  if (usual === 'cpu' && request.ownDeadline) return false;
  const profile = model.profiles[usual];
  const tokens = likelyTokens(request);
  return profile !== undefined && (tokens === null || fitsContext(tokens, profile));
}

/** Placements whose context the prompt does not exceed; all where it was not counted. */
export function placementsThatFit(model: Model, { tokens }: Request): Placement[] {
  return allowedPlacements(model).filter((placement) => {
    const profile = model.profiles[placement];
    return profile !== undefined && (tokens === null || fitsContext(tokens, profile));
  });
}

/** No placement that the mode allows has the context for its prompt; the largest context there is. Null: one has. */
export function tooLongEverywhere(model: Model, tokens: number): number | null {
  let largest = 0;
  for (const placement of allowedPlacements(model)) {
    const profile = model.profiles[placement];
    if (profile === undefined) continue;
    if (fitsContext(tokens, profile)) return null;
    largest = Math.max(largest, slotContext(profile));
  }
  return largest === 0 ? null : largest;
}

/**
 * Expected ms to read the prompt: tokens * share that is read / prompt speed; null where the speed was not learned
 * yet. The share is learned too: what a placement finds in its prompt cache is not read again.
 */
export function readMs(state: State, model: Model, request: Request, placement: Placement): number | null {
  const speed = promptSpeed(state, model, placement);
  const tokens = likelyTokens(request);
  if (speed === null || tokens === null) return null;
  const share = state.models.get(model.name)?.readShare[placement] ?? 1;
  return (tokens * share * 1000) / speed;
}

/**
 * Its first content is expected when it is ready, or one of its slots is free, and the prompt is read. The client's own
 * deadline runs until the first content, so it binds on any CPU. The configured one ends with the wait; it decides where
 * the CPU only stands in for a better placement, which may be back in time.
 */
function tooSlow(state: State, model: Model, request: Request, now: Now): Unsuited | null {
  // The first content of a text that goes on was in time.
  if (request.continues !== null) return null;
  const speed = promptSpeed(state, model, 'cpu');
  if (speed === null) return null;
  if (!request.ownDeadline && allowedPlacements(model)[0] === 'cpu') return null;
  const read = readMs(state, model, request, 'cpu');
  if (read === null) return null;
  const slotMs = untilSlotMs(state, model, 'cpu', now);
  const ms = slotMs + read;
  const leftMs = request.deadlineAt - now.mono;
  if (ms <= leftMs) return null;
  return { why: 'slow', tokens: likelyTokens(request) ?? 0, speed, untilSlotMs: slotMs, ms, leftMs };
}

function promptSpeed(state: State, model: Model, placement: Placement): number | null {
  const profile = model.profiles[placement];
  return profile === undefined ? null : speedOf(state.speeds, profile).prompt;
}

function untilSlotMs(state: State, model: Model, placement: Placement, now: Now): number {
  const there = instancesOf(state, model.name).filter((one) => one.placement === placement);
  if (there.some(hasFreeSlot)) return 0;
  const slots = model.profiles[placement]?.parallel ?? 1;
  const busy = there.some((one) => one.phase.state === 'ready');
  return busy
    ? serviceMs(state, model.name, placement) / slots
    : readyInMs(state, model.name, placement, now);
}
