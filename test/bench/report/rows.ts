/** From samples to the rows of the table. */
import type { Samples } from '../measure/samples.ts';
import { median } from '../measure/statistics.ts';
import { GOALS, type Goal } from './goals.ts';
import { PASS_THROUGH_TO_LLAMA_SWAP } from './translation.ts';

export interface Row {
  readonly goal: Goal;
  readonly ours: number;
  /** Each target's figure, by name. */
  readonly others: Readonly<Record<string, number>>;
  /** What the goal is about: a ratio, or the figure itself. */
  readonly reached: number;
  /** Null: there was nothing to compare with. */
  readonly met: boolean | null;
}

export const OURS = 'llamastead';
const BARE = 'bare';
const BARE_METRIC = 'start ms';

/** Rows of what was measured. `targets`: names of the proxies that were, and of the upstream. */
export function rowsOf(samples: Samples, targets: readonly string[]): Row[] {
  return GOALS.flatMap((goal) => {
    const ours = median(samples.of(goal.metric, OURS));
    if (Number.isNaN(ours)) return [];
    const others = Object.fromEntries(
      targets
        .map((name) => [name, median(samples.of(goal.metric, name))] as const)
        .filter(([, figure]) => !Number.isNaN(figure)),
    );
    if (goal.against === 'bare') others[BARE] = median(samples.of(BARE_METRIC, BARE));
    const reached = reachedBy(goal, samples, ours);
    return [{ goal, ours, others, reached, met: isMet(goal, reached) }];
  });
}

function isMet({ sense, limit }: Goal, reached: number): boolean | null {
  if (Number.isNaN(reached)) return null;
  return sense === 'least' ? reached >= limit : reached <= limit;
}

function reachedBy(goal: Goal, samples: Samples, ours: number): number {
  if (goal.against === 'value') return ours;
  if (goal.against === 'bare') return ratio(samples, goal.metric, BARE_METRIC, BARE);
  const direct = ratio(samples, goal.metric, goal.metric, 'llama-swap');
  if (!Number.isNaN(direct)) return direct;
  const translated = PASS_THROUGH_TO_LLAMA_SWAP[goal.metric] ?? Number.NaN;
  return ratio(samples, goal.metric, goal.metric, 'pass-through') * translated;
}

/** The median of the ratios round by round: what slows a round slows both. */
function ratio(samples: Samples, metric: string, theirMetric: string, their: string): number {
  const theirs = samples.of(theirMetric, their);
  return median(samples.of(metric, OURS).map((own, round) => own / (theirs[round] ?? Number.NaN)));
}
