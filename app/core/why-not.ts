/** The words of an end without an instance: what lacks, with the numbers that decide, and when to come again. */
import type { Fit } from './admission.ts';
import { givenUpFor } from './engine-away.ts';
import { allowedPlacements, nextRetry } from './placement.ts';
import { isLasting } from './reason.ts';
import { refusal, tooBig } from './refuse.ts';
import type { Refusal, Request } from './request.ts';
import type { Pursuit } from './starts.ts';
import type { State } from './state.ts';
import { type Unsuited, unsuited } from './suited.ts';
import type { Model, Now, Problem } from './types.ts';
import { backInMs, memoryFreeInMs, retrySeconds } from './waits.ts';

/** When memory that something else than a model holds may be free, ms: nobody knows. */
const UNKNOWN_MEMORY_MS = 30_000;

/** `request`: null for a load that no request stands behind. */
export function whyNot(
  state: State,
  model: Model,
  request: Request | null,
  pursuit: Extract<Pursuit, { kind: 'none' }>,
  now: Now,
): Refusal {
  const outOfService = outWords(state, model, now);
  const back = backInMs(state, model, now);
  const slow = request === null ? null : unsuited(state, model, request, 'cpu', now);
  if (slow?.why === 'slow') {
    const message = [slowWords(model, slow), outOfService].filter(Boolean).join(' ');
    return refusal('capacity', message, back === null ? null : retrySeconds(back));
  }
  const shortage = pursuit.shortages.at(-1);
  if (shortage !== undefined) {
    const ms = Math.min(memoryFreeInMs(state, model.name) ?? UNKNOWN_MEMORY_MS, back ?? Infinity);
    const retryAfter = neverFits(state, shortage.fit) ? null : retrySeconds(ms);
    return refusal('capacity', tooBig(model.name, shortage.fit), retryAfter);
  }
  const problem = pursuit.problems[0] ?? engineProblem(state, model, now);
  if (problem !== null) {
    const text = `${problem.text} ${problem.fix}`;
    return problem.model === undefined ? refusal('preparing', text, 10) : refusal('backend_failed', text);
  }
  if (outOfService === null || back === null) {
    const message = `${model.name} has no placement that mode ${model.mode} allows on this machine.`;
    return refusal('capacity', message);
  }
  return refusal(mayPass(state, model) ? 'capacity' : 'backend_failed', outOfService, retrySeconds(back));
}

/** Of an engine that is not waited for any longer, also where its placements are out of service anyway. */
function engineProblem(state: State, model: Model, now: Now): Problem | null {
  for (const placement of allowedPlacements(model)) {
    const engine = state.engines.get(model.profiles[placement]?.engine ?? '');
    const problem = givenUpFor(engine, now.mono);
    if (problem !== null) return problem;
  }
  return null;
}

/** Null: nothing is out of service. */
function outWords(state: State, model: Model, now: Now): string | null {
  const retry = nextRetry(state, model);
  if (retry === Number.POSITIVE_INFINITY) return null;
  const seconds = Math.max(1, Math.ceil((retry - now.mono) / 1000));
  const error = state.models.get(model.name)?.lastError;
  const because = error ? ` The last failure: ${error}` : '';
  return `${model.name} is out of service${where(state, model)}; tried again in ${seconds} s.${because}`;
}

function where(state: State, model: Model): string {
  const out = [...(state.models.get(model.name)?.outages.keys() ?? [])];
  return out.length === 0 ? '' : ` on ${out.join(' and ')}`;
}

function slowWords(model: Model, slow: Extract<Unsuited, { why: 'slow' }>): string {
  const { tokens, speed, untilSlotMs, ms, leftMs } = slow;
  const before = untilSlotMs < 1_000 ? '' : `${Math.round(untilSlotMs / 1000)} s until it has a place, then `;
  return (
    `The CPU would take about ${Math.ceil(ms / 1000)} s until the first word of ${model.name}: ${before}${tokens} tokens to ` +
    `read at ${Math.round(speed)} a second, as measured. The request has ${Math.floor(leftMs / 1000)} s left.`
  );
}

/** Some placement is out for a reason that may pass by itself. */
function mayPass(state: State, model: Model): boolean {
  return [...(state.models.get(model.name)?.outages.values() ?? [])].some(({ reason }) => !isLasting(reason));
}

/** More than the whole machine could give. */
function neverFits(state: State, fit: Fit): boolean {
  return state.host !== null && fit.need > state.host.memory.total;
}
