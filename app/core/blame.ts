/**
 * Who can be the cause of a death. Only a request that was alone on two instances that died is convicted;
 * requests that were in flight together are suspects, and run one at a time from then on. Docker's evidence
 * acquits all of them where somebody or something else ended the instance.
 */
import type { Decision } from './changes.ts';
import { isDrilled } from './drill.ts';
import { hasFreeSlot, type Instance } from './instance.ts';
import { problemKey } from './problem.ts';
import { convicts } from './reason.ts';
import { refusal, refuseRequest } from './refuse.ts';
import type { Failure, Refusal, Request, RequestId } from './request.ts';
import type { State } from './state.ts';
import { suitedChoices, waitsForUntried } from './suited.ts';
import type { ExitEvidence, Now, Problem, Reason } from './types.ts';

/** Two instances are enough; a request that ended one of them may have met a fault of the placement. */
const DEATHS_TO_CONVICT = 2;
/** The same body is refused for so long: SDKs try again twice by themselves. */
const REFUSED_MS = 600_000;
/** Bodies that are remembered; the oldest goes first. */
export const MOST_REFUSED = 64;

/** Docker is asked within this, and answers or not (ms): no request waits longer for evidence. */
export const EVIDENCE_MS = 120_000;

/** What the socket shows of a death: who was in flight, as far as this request is concerned. */
export interface Death {
  /** Deaths of instances on which it was alone, this one included, proved or not yet examined. */
  readonly aloneDeaths: number;
  /** It was in flight with others, or is a suspect from before. */
  readonly suspect: boolean;
}

/** `instance` is undefined where it is gone already: then nothing is known. */
export function deathOf(
  state: State,
  request: Request,
  instance: Instance | undefined,
  failure: Failure,
): Death {
  const before = request.aloneDeaths + openDeaths(state, request.id);
  const was = { aloneDeaths: before, suspect: request.suspectOf !== null };
  if (failure.kind !== 'reset' || instance === undefined || isExcused(state, instance)) return was;
  const inFlight = instance.inFlight ?? [...instance.leases];
  if (inFlight.length > 1) return { ...was, suspect: true };
  // Docker's word can come before the socket's: then this death is counted already.
  const counted = instance.inFlight !== null;
  return { ...was, aloneDeaths: counted ? before : before + 1 };
}

/** Keeps who was in flight when the instance died; the first report of it counts. */
export function seeDeath(out: Decision, state: State, instance: Instance): void {
  if (instance.inFlight !== null || isExcused(state, instance)) return;
  out.changes.push({ type: 'death_seen', instance: instance.id, inFlight: [...instance.leases] });
}

/** The evidence has come: convicts the one that was alone, or acquits all. */
export function judgeDeath(
  out: Decision,
  state: State,
  instance: Instance,
  inFlight: readonly RequestId[],
  evidence: ExitEvidence,
  reason: Reason,
): void {
  const guilty = convicts(reason, evidence) && !isDrilled(state, instance.model);
  for (const id of inFlight) {
    const request = state.requests.get(id);
    if (request === undefined) continue;
    if (!guilty && request.suspectOf === instance.id) {
      out.changes.push({ type: 'request_suspected', request: id, by: null });
    }
    if (guilty && inFlight.length === 1) out.changes.push({ type: 'request_blamed', request: id });
  }
}

/** A rule of `settle`: requests without another try end when the evidence of their deaths is complete. */
export function endJudged(out: Decision, state: State, now: Now): void {
  for (const id of state.judged) {
    const request = state.requests.get(id);
    if (request?.phase.phase !== 'judged') continue;
    const { body = null } = request.phase;
    const isOpen = openDeaths(state, id) > 0 || request.phase.body === undefined;
    if (isOpen && now.mono < request.phase.until) continue;
    if (request.aloneDeaths < DEATHS_TO_CONVICT) {
      refuseRequest(out, request, request.phase.otherwise);
      return;
    }
    if (body !== null) refuseBody(out, state, body, request.model, now);
    refuseRequest(out, request, poison(request.model, REFUSED_MS));
    return;
  }
  for (const [body, { model, until }] of state.refusedBodies) {
    if (until > now.mono) continue;
    out.changes.push({ type: 'body_released', body });
    tellRefused(out, model, refusedOf(state, model) - 1);
    return;
  }
}

function refuseBody(out: Decision, state: State, body: string, model: string, now: Now): void {
  out.changes.push({ type: 'body_refused', body, model, until: now.mono + REFUSED_MS });
  tellRefused(out, model, refusedOf(state, model) + (state.refusedBodies.has(body) ? 0 : 1));
}

/** A body that was convicted is not taken again for a while; null: it may come in. */
export function refusedBody(state: State, body: string | null, now: Now): Refusal | null {
  const refused = body === null ? undefined : state.refusedBodies.get(body);
  if (refused === undefined || refused.until <= now.mono) return null;
  return poison(refused.model, refused.until - now.mono);
}

/** A free slot that this request may have: suspects run alone, one of a model at a time. */
export function mayTake(state: State, request: Request, instance: Instance, now: Now): boolean {
  if (!hasFreeSlot(instance)) return false;
  if (state.suspects.size === 0) return true;
  const suspects = suspectsOf(state, request.model);
  const running = suspects.find((one) => one.phase.phase === 'running');
  if (request.suspectOf !== null) return running === undefined && instance.leases.size === 0;
  if (running !== undefined) return !instance.leases.has(running.id);
  const next = suspects.find((one) => one.phase.phase === 'waiting');
  return next === undefined || reservedFor(state, next, now) !== instance.id;
}

/** The instance that the next suspect will take when it is free; it gets no other work until then. */
function reservedFor(state: State, suspect: Request, now: Now): string | null {
  const model = state.policy?.models.get(suspect.model);
  if (model === undefined) return null;
  const order = suitedChoices(state, model, suspect, now);
  for (const placement of order) {
    if (waitsForUntried(state, model, suspect, placement, order)) return null;
    for (const instance of state.instances.values()) {
      const fits = instance.model === model.name && instance.placement === placement;
      if (fits && instance.phase.state === 'ready') return instance.id;
    }
  }
  return null;
}

/** In the order in which they wait: they had their turn, so they stand at the head by age. */
function suspectsOf(state: State, model: string): Request[] {
  const found: Request[] = [];
  for (const id of state.suspects) {
    const request = state.requests.get(id);
    if (request?.model === model) found.push(request);
  }
  return found.sort((a, b) => a.id - b.id);
}

/** Deaths on which it was alone and whose evidence has not come. */
function openDeaths(state: State, request: RequestId): number {
  let open = 0;
  for (const { inFlight, phase } of state.instances.values()) {
    if (inFlight?.length !== 1 || inFlight[0] !== request) continue;
    if (phase.state !== 'stuck' && !(phase.state === 'failed' && phase.examined)) open += 1;
  }
  return open;
}

/** Its sockets broke by our own hand, or by somebody's whom Docker named: no request is the cause. */
function isExcused(state: State, { phase, model }: Instance): boolean {
  if (isDrilled(state, model)) return true;
  if (phase.state === 'stopping' || phase.state === 'stuck') return true;
  if (phase.state === 'draining') return phase.why === 'shutdown' || isOutside(phase.reason);
  return phase.state === 'failed' && isOutside(phase.reason);
}

function isOutside(reason: Reason | null): boolean {
  return (
    reason !== null &&
    ['paused', 'killed_outside', 'memory_limit', 'hang', 'stall', 'frozen'].includes(reason)
  );
}

function poison(model: string, ms: number): Refusal {
  const minutes = Math.max(1, Math.round(ms / 60_000));
  const message = `This request ended two backends of ${model} while it ran alone on them; the same request is not taken again for ${minutes} min.`;
  return refusal('poison', message);
}

function refusedOf(state: State, model: string): number {
  let count = 0;
  for (const refused of state.refusedBodies.values()) if (refused.model === model) count += 1;
  return count;
}

function tellRefused(out: Decision, model: string, count: number): void {
  if (count > 0) out.changes.push({ type: 'problem_set', problem: refusedProblem(model, count) });
  else out.changes.push({ type: 'problem_cleared', key: problemKey({ code: 'poison', model }) });
}

function refusedProblem(model: string, count: number): Problem {
  return {
    code: 'poison',
    model,
    text: `${count} request(s) to ${model} ended two of its instances each, and are refused for 10 minutes.`,
    fix: 'The events name the request and the last words of the instances. Shorten or change the request, or update the llama.cpp image.',
    params: { count },
  };
}
