/**
 * The story of a failover, as a list that ticks off: GPU stopped, CPU starting, requests moved, answering,
 * GPU tried again, back. It is told from the snapshot and the facts since the outage began, so that a page
 * opened in the middle tells the same.
 */
import type { Fact } from '../../core/facts.ts';
import type { Placement, Reason } from '../../core/types.ts';
import type { ModelView, RequestView, View } from '../../core/view.ts';
import { startingOf } from './card.ts';

export type StepState = 'done' | 'now' | 'next';

export type Step =
  | {
      readonly kind: 'stopped';
      readonly state: 'done';
      readonly placement: Placement;
      readonly reason: Reason;
    }
  | {
      readonly kind: 'cpu';
      readonly state: StepState;
      /** Seconds: the load took so long, or has taken so far. */
      readonly seconds: number | null;
      readonly fraction: number | null;
    }
  | { readonly kind: 'moved'; readonly state: StepState; readonly requests: number }
  | { readonly kind: 'lost'; readonly state: 'done'; readonly requests: number }
  | { readonly kind: 'answering'; readonly state: StepState }
  | {
      readonly kind: 'retry';
      readonly state: StepState;
      readonly placement: Placement;
      readonly at: string | null;
      readonly probing: boolean;
    }
  | {
      readonly kind: 'back';
      readonly state: StepState;
      readonly placement: Placement;
      readonly seconds: number | null;
    };

export interface Story {
  readonly placement: Placement;
  readonly steps: readonly Step[];
  readonly lost: number;
  /** Still going on, or told once more after its end. */
  readonly over: boolean;
  /** The placement that took over has the model. */
  readonly continues: boolean;
}

/** The end of an outage is told for so long in the card (ms); then it is an event like others. */
export const STORY_KEPT = 10 * 60_000;
/** The fact of a failure may be timed a little before the outage that it began. */
const SLACK = 5_000;

/** Null: no outage now, and none that ended within ten minutes. `now` in the server's Unix ms. */
export function outageStory(view: View, model: ModelView, facts: readonly Fact[], now: number): Story | null {
  const mine = facts.filter((fact) => fact.model === model.name);
  if (model.outage !== null) {
    return ongoing(view, model, model.outage, mine, now);
  }
  const recovered = mine.findLast((fact) => fact.type === 'recovered');
  if (recovered === undefined || now - Date.parse(recovered.time) > STORY_KEPT) return null;
  return ended(recovered, mine);
}

function ongoing(
  view: View,
  model: ModelView,
  outage: NonNullable<ModelView['outage']>,
  mine: readonly Fact[],
  now: number,
): Story {
  const began = Date.parse(outage.since) - SLACK;
  const since = mine.filter((fact) => Date.parse(fact.time) >= began);
  const moved = movedIds(since);
  const movedCount = countMoved(since, moved.length);
  const lost = lostCount(since);
  const elsewhere = model.placement !== 'none' && model.placement !== outage.placement;
  const steps: Step[] = [
    { kind: 'stopped', state: 'done', placement: outage.placement, reason: outage.reason },
  ];
  if (model.placements.includes('cpu') && outage.placement !== 'cpu') {
    steps.push(cpuStep(view, model, since, elsewhere, moved.length > 0, now));
  }
  const open = view.requests.filter((request) => request.model === model.name);
  if (moved.length > 0) {
    steps.push({ kind: 'moved', state: elsewhere ? 'done' : 'now', requests: movedCount });
    steps.push({ kind: 'answering', state: answeringState(moved, open) });
  }
  if (lost > 0) steps.push({ kind: 'lost', state: 'done', requests: lost });
  steps.push({
    kind: 'retry',
    state: outage.probing ? 'now' : 'next',
    placement: outage.placement,
    at: outage.retryAt,
    probing: outage.probing,
  });
  steps.push({ kind: 'back', state: 'next', placement: outage.placement, seconds: null });
  return { placement: outage.placement, steps, lost, over: false, continues: elsewhere };
}

function cpuStep(
  view: View,
  model: ModelView,
  since: readonly Fact[],
  elsewhere: boolean,
  wanted: boolean,
  now: number,
): Step {
  const loaded = since.findLast((fact) => fact.type === 'model_loaded' && fact.placement === 'cpu');
  if (elsewhere) return { kind: 'cpu', state: 'done', seconds: loaded?.seconds ?? null, fraction: null };
  const starting = startingOf(view, model, now);
  if (starting?.placement === 'cpu') {
    return { kind: 'cpu', state: 'now', seconds: starting.elapsed, fraction: starting.fraction };
  }
  return { kind: 'cpu', state: wanted ? 'now' : 'next', seconds: null, fraction: null };
}

/** `done` once no moved request is open any more; `now` while one is being answered elsewhere. */
function answeringState(moved: readonly string[], open: readonly RequestView[]): StepState {
  const left = open.filter((request) => moved.includes(request.id));
  if (left.length === 0) return 'done';
  return left.some((request) => request.phase === 'running') ? 'now' : 'next';
}

function ended(recovered: Fact, mine: readonly Fact[]): Story {
  const until = Date.parse(recovered.time);
  const began = until - (recovered.seconds ?? 0) * 1000 - SLACK;
  const during = mine.filter((fact) => {
    const time = Date.parse(fact.time);
    return time >= began && time <= until;
  });
  const placement = recovered.to ?? recovered.placement ?? 'gpu';
  const first = during.find((fact) => fact.reason !== undefined);
  const loaded = during.findLast((fact) => fact.type === 'model_loaded' && fact.placement === 'cpu');
  const moved = movedIds(during);
  const lost = lostCount(during);
  const steps: Step[] = [
    { kind: 'stopped', state: 'done', placement, reason: recovered.reason ?? first?.reason ?? 'unknown' },
  ];
  if (loaded !== undefined) {
    steps.push({ kind: 'cpu', state: 'done', seconds: loaded.seconds ?? null, fraction: null });
  }
  if (moved.length > 0) {
    steps.push({ kind: 'moved', state: 'done', requests: countMoved(during, moved.length) });
    steps.push({ kind: 'answering', state: 'done' });
  }
  if (lost > 0) steps.push({ kind: 'lost', state: 'done', requests: lost });
  steps.push({ kind: 'back', state: 'done', placement, seconds: recovered.seconds ?? null });
  return { placement, steps, lost, over: true, continues: false };
}

/** Client ids of the requests that went elsewhere, each once. */
function movedIds(facts: readonly Fact[]): readonly string[] {
  const ids = new Set<string>();
  for (const fact of facts) {
    if (fact.type !== 'failover') continue;
    for (const id of fact.requestIds ?? (fact.requestId === undefined ? [] : [fact.requestId])) ids.add(id);
  }
  return [...ids];
}

/** A fact names at most 16 ids; its `count` is the whole. */
function countMoved(facts: readonly Fact[], named: number): number {
  const counted = facts
    .filter((fact) => fact.type === 'failover')
    .reduce((sum, fact) => sum + (fact.count ?? 0), 0);
  return Math.max(named, counted);
}

function lostCount(facts: readonly Fact[]): number {
  return facts
    .filter((fact) => fact.type === 'failover_failed')
    .reduce((sum, fact) => sum + Math.max(1, fact.requestIds?.length ?? 0), 0);
}
