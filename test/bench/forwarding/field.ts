/** The targets of a run and where their figures go. */
import type { Samples } from '../measure/samples.ts';
import type { Target } from '../targets/target.ts';
import type { Expected } from './expected.ts';

export interface Field {
  readonly targets: readonly Target[];
  readonly samples: Samples;
  readonly expected: Expected;
}

/** Different answers in a run. */
export const SEEDS = 8;
/** Text events of the answers to small completions. */
export const SMALL = 8;
