/** Prompts that are too long for a context: counted while they wait, sent where they fit, or refused with numbers. */
import type { Decision } from './changes.ts';
import { wait } from './grant.ts';
import { perModel } from './per-model.ts';
import { problemKey } from './problem.ts';
import { fitsContext, mayExceed, smallestContext } from './prompt.ts';
import { refuseRequest } from './refuse.ts';
import type { Outcome, Overflow, Request, RequestId } from './request.ts';
import { instancesOf, type State } from './state.ts';
import { suitedChoices, tooLongEverywhere, unsuited, usualPlacement } from './suited.ts';
import { tooLong, tooLongProblem, wholeContext } from './too-long-words.ts';
import type { Model, Now, Placement } from './types.ts';

/** A request that has less time left is judged by its bytes: the count may take it all. */
const COUNT_MS = 1_000;
/** A problem that one request showed is told for so long. */
const TOLD_MS = 3_600_000;

/** The instance's answer to how many tokens a prompt has. */
export function onCounted(out: Decision, state: State, id: RequestId, tokens: number | null): void {
  const request = state.requests.get(id);
  if (request !== undefined) out.changes.push({ type: 'prompt_counted', request: id, tokens });
}

/**
 * Asks a ready instance for the tokens of a waiting prompt where they decide: by its bytes it may be too long, or
 * take the CPU too long. One at a time for each model, since llama-server starves with many connections. A request that
 * is granted at once is not asked for: the instance itself refuses in as short a time.
 */
export function countPrompts(out: Decision, state: State, now: Now): void {
  if (state.waiting.length === 0) return;
  const facts = perModel((model) => ({
    smallest: smallestContext(model),
    usual: usualPlacement(state, model, now),
  }));
  const asked = new Set<string>();
  for (const { counting, model } of state.requests.values()) if (counting === 'asked') asked.add(model);
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    const model = request && state.policy?.models.get(request.model);
    if (!request || !model || asked.has(model.name)) continue;
    if (request.counting !== 'no' || !decides(state, model, request, facts(model), now)) continue;
    const ready = instancesOf(state, model.name).find((one) => one.phase.state === 'ready');
    if (ready === undefined) continue;
    out.changes.push({ type: 'count_asked', request: id });
    out.effects.push({ type: 'count_tokens', request: id, instance: ready.id });
    return;
  }
}

function decides(
  state: State,
  model: Model,
  request: Request,
  { smallest, usual }: { readonly smallest: number; readonly usual: Placement | null },
  now: Now,
): boolean {
  if (request.deadlineAt - now.mono < COUNT_MS) return false;
  if (mayExceed(request, smallest)) return true;
  // The CPU's speed is asked only where it would be its turn.
  if (usual !== null && (usual !== 'cpu' || !request.ownDeadline)) return false;
  return suitedChoices(state, model, request, now).length === 0 && isTooSlow(state, model, request, now);
}

function isTooSlow(state: State, model: Model, request: Request, now: Now): boolean {
  return unsuited(state, model, request, 'cpu', now)?.why === 'slow';
}

/** A waiting request whose prompt fits nowhere ends. */
export function endTooLong(out: Decision, state: State, now: Now): void {
  for (const id of state.waiting) {
    const request = state.requests.get(id);
    const model = request && state.policy?.models.get(request.model);
    if (!request || !model || request.tokens === null) continue;
    const context = tooLongEverywhere(model, request.tokens);
    if (context === null) continue;
    const overflow = { tokens: request.tokens, context };
    refuseRequest(out, request, tooLong(state, model.name, overflow));
    tell(out, state, request, overflow, now);
    return;
  }
}

/**
 * An instance refused the prompt as too long, so it has processed nothing. True: it waits for a placement with
 * more context, or ends with better advice; false: there is none, and the instance's answer is the answer.
 */
export function onOverflow(
  out: Decision,
  state: State,
  request: Request,
  { failure, forwarded }: Extract<Outcome, { kind: 'failed' }>,
  now: Now,
): boolean {
  const overflow = failure.kind === 'http' ? failure.overflow : undefined;
  const model = state.policy?.models.get(request.model);
  if (overflow === undefined || model === undefined || forwarded !== 'nothing') return false;
  // It takes less than it was started for (what the model was trained for, at most): it would refuse again.
  if (madeFor(state, request, overflow.tokens)) return false;
  out.changes.push({ type: 'prompt_counted', request: request.id, tokens: overflow.tokens });
  const at = now.mono;
  const fitsElsewhere = tooLongEverywhere(model, overflow.tokens) === null;
  if (!fitsElsewhere) tell(out, state, request, overflow, now);
  // Its advice is wrong only where less was asked of it than is configured.
  if (!fitsElsewhere && wholeContext(state, model.name, overflow.tokens) === null) return false;
  out.changes.push({ type: 'lease_ended', request: request.id, at, counted: false, served: false });
  if (fitsElsewhere) wait(out, request, 0, true, at);
  else refuseRequest(out, request, tooLong(state, model.name, overflow));
  return true;
}

/** Whether so many tokens fit the instance that the request runs on, as it was started. */
function madeFor(state: State, { phase }: Request, tokens: number): boolean {
  const instance = phase.phase === 'running' ? state.instances.get(phase.instance) : undefined;
  return instance !== undefined && fitsContext(tokens, instance.profile);
}

/** Problems that are old, or that a larger context has solved. */
export function forgetTooLong(out: Decision, state: State, now: Now): void {
  for (const { name, overflow } of state.models.values()) {
    if (overflow === null) continue;
    const model = state.policy?.models.get(name);
    if (
      model !== undefined &&
      overflow.until > now.mono &&
      tooLongEverywhere(model, overflow.tokens) !== null
    )
      continue;
    out.changes.push({ type: 'overflow_set', model: name, overflow: null });
    out.changes.push({ type: 'problem_cleared', key: problemKey({ code: 'context_exceeded', model: name }) });
  }
}

/** The longest prompt that did not fit is told, with the context that it would take; a drill's was made so. */
function tell(
  out: Decision,
  state: State,
  { drill, model }: Request,
  { tokens, context }: Overflow,
  now: Now,
): void {
  if (drill) return;
  const until = now.mono + TOLD_MS;
  out.changes.push({ type: 'overflow_set', model, overflow: { tokens, until } });
  out.changes.push({ type: 'problem_set', problem: tooLongProblem(state, model, { tokens, context }) });
}
