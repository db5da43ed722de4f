/** An engine that went away is expected back for a while: a restart of Docker takes some seconds. */
import type { Engine } from './state.ts';
import type { Problem } from './types.ts';

/** Longer than Docker takes to end its containers and to start again. */
const AWAY_MS = 60_000;

/** From when on an engine that was lost then is not waited for any longer (monotonic ms). */
export function givenUpAt(lostAt: number): number {
  return lostAt + AWAY_MS;
}

/** What is wrong with it, where it was never there or is not waited for any longer; null: it is there, or may be soon. */
export function givenUpFor(engine: Engine | undefined, mono: number): Problem | null {
  return engine === undefined || isExpected(engine, mono) ? null : engine.problem;
}

/** It is away, but may be back soon. */
export function isExpected({ lostAt }: Engine, mono: number): boolean {
  return lostAt !== null && mono < givenUpAt(lostAt);
}
