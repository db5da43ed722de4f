/**
 * What each answered request adds, counted in numbers of our own until Prometheus asks: a counter of its library makes
 * a text of its labels each time, which costs more than all else that is counted.
 */
import type { Counter } from 'prom-client';
import type { Placement } from '../../../core/types.ts';

export interface Tally {
  readonly labels: { readonly model: string; readonly placement: Placement | 'none' };
  completed: number;
  answered: number;
  /** Null: none was told. */
  promptTokens: number | null;
  tokens: number | null;
}

export interface Tallies {
  of(model: string, placement: Placement | 'none'): Tally;
  /** Adds all to the counters, and begins anew. */
  count(): void;
}

export interface TalliedCounters {
  readonly requests: Counter<'model' | 'placement' | 'outcome'>;
  readonly attempts: Counter<'model' | 'placement' | 'outcome'>;
  readonly promptTokens: Counter<'model' | 'placement'>;
  readonly tokens: Counter<'model' | 'placement'>;
}

const NOTHING = { completed: 0, answered: 0, promptTokens: null, tokens: null };

/** `label`: bounds the names of models, and so the tallies. */
export function newTallies(label: (model: string) => string, counters: TalliedCounters): Tallies {
  const byModel = new Map<string, Map<string, Tally>>();

  function make(of: Map<string, Tally>, model: string, placement: Tally['labels']['placement']): Tally {
    const tally: Tally = { labels: { model, placement }, ...NOTHING };
    of.set(placement, tally);
    return tally;
  }

  return {
    of(given, placement) {
      const model = label(given);
      let of = byModel.get(model);
      if (of === undefined) {
        of = new Map();
        byModel.set(model, of);
      }
      return of.get(placement) ?? make(of, model, placement);
    },
    count() {
      for (const of of byModel.values()) for (const tally of of.values()) add(counters, tally);
    },
  };
}

function add({ requests, attempts, promptTokens, tokens }: TalliedCounters, tally: Tally): void {
  const { labels } = tally;
  if (tally.completed > 0) requests.inc({ ...labels, outcome: 'completed' }, tally.completed);
  if (tally.answered > 0) attempts.inc({ ...labels, outcome: 'answered' }, tally.answered);
  if (tally.promptTokens !== null) promptTokens.inc(labels, tally.promptTokens);
  if (tally.tokens !== null) tokens.inc(labels, tally.tokens);
  Object.assign(tally, NOTHING);
}
