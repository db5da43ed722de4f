/** One fold a change; a change without one does not compile. */
import type { Change } from './changes.ts';
import type { State } from './state.ts';

export type Folds = {
  readonly [T in Change['type']]: (state: State, change: Extract<Change, { type: T }>) => void;
};
