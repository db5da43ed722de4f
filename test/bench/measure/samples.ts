/** Values by metric and target, one a round; and whether the answers were right. */

export type Metric = string;

export interface Samples {
  put(metric: Metric, target: string, value: number): void;
  /** One value a round, in order. */
  of(metric: Metric, target: string): readonly number[];
  metrics(): readonly Metric[];
  /** Counts an answer that is not as the upstream's, and keeps the first as an example. */
  fault(phase: string, target: string, what: string, example?: string): void;
  faults(): Readonly<Record<string, Fault>>;
}

export interface Fault {
  readonly count: number;
  readonly example: string;
}

export function newSamples(): Samples {
  const values = new Map<Metric, Map<string, number[]>>();
  const faults: Record<string, Fault> = {};
  return {
    put(metric, target, value) {
      const targets = values.get(metric) ?? new Map<string, number[]>();
      values.set(metric, targets);
      targets.set(target, [...(targets.get(target) ?? []), value]);
    },
    of: (metric, target) => values.get(metric)?.get(target) ?? [],
    metrics: () => [...values.keys()],
    fault(phase, target, what, example = '') {
      const key = `${phase}, ${target}: ${what}`;
      const before = faults[key] ?? { count: 0, example };
      faults[key] = { ...before, count: before.count + 1 };
    },
    faults: () => faults,
  };
}
