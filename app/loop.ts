/**
 * Runs the core: one input at a time, to completion. An input is decided and folded, `settle` is asked until
 * nothing is left to decide, facts are handed to the event log, then the effects start. Whatever an effect
 * brings comes back as an input.
 */
import { type Decision, isEmpty } from './core/changes.ts';
import { decide } from './core/decide.ts';
import type { Effect } from './core/effects.ts';
import { evolve, evolveFact } from './core/evolve.ts';
import type { FactBody } from './core/facts.ts';
import type { Input } from './core/inputs.ts';
import { settle } from './core/schedule.ts';
import { type Carried, emptyState, type State } from './core/state.ts';
import type { Clock } from './ports.ts';

/** One executor an effect: a new effect without one does not compile. */
export type Executors = {
  readonly [T in Effect['type']]: (effect: Extract<Effect, { type: T }>) => void;
};

export interface LoopParts {
  readonly clock: Clock;
  readonly executors: Executors;
  /** Takes the facts of one turn, in order. */
  readonly publish: (facts: readonly FactBody[], wall: number) => void;
  readonly carried?: Partial<Carried>;
}

export interface Loop {
  /**
   * Takes an input; from within an effect it is taken after the present turn. Throws only on a fault of the core or
   * of an executor, after all else was done.
   */
  submit(input: Input): void;
  /** For reading only. */
  readonly state: State;
  /** Called after each turn that changed the state. */
  onTurn(listener: () => void): () => void;
  /** Ends the alarm; inputs are still taken. */
  close(): void;
}

/** A decision that never settles is a fault of the core: better a crash than a spin. */
const MAX_ROUNDS = 10_000;

export function makeLoop({ clock, executors, publish, carried }: LoopParts): Loop {
  const state = emptyState(carried);
  const inputs: Input[] = [];
  const listeners = new Set<() => void>();
  let running = false;
  /** The first one of a submit, thrown when all else is done. */
  let fault: { readonly thrown: unknown } | null = null;
  let armedFor = Number.POSITIVE_INFINITY;
  let disarm: () => void = () => {};

  function fold(decision: Decision, facts: FactBody[], effects: Effect[], wall: number): void {
    for (const change of decision.changes) evolve(state, change);
    for (const fact of decision.facts) {
      evolveFact(state, fact, wall);
      facts.push(fact);
    }
    for (const effect of decision.effects) effects.push(effect);
  }

  function turn(input: Input): void {
    const now = clock.now();
    const facts: FactBody[] = [];
    const effects: Effect[] = [];
    fold(decide(state, input, now), facts, effects, now.wall);
    for (let round = 0; ; round += 1) {
      const decision = settle(state, now);
      if (isEmpty(decision)) break;
      if (round > MAX_ROUNDS) throw new Error(`the core does not settle after ${input.type}`);
      fold(decision, facts, effects, now.wall);
    }
    if (facts.length > 0) guarded(publish, facts, now.wall);
    for (const effect of effects) guarded(execute, executors, effect);
  }

  /** What is decided is folded already: a part that breaks must not take the other effects with it. */
  function guarded<A extends unknown[]>(work: (...args: A) => void, ...args: A): void {
    try {
      work(...args);
    } catch (thrown) {
      fault ??= { thrown };
    }
  }

  /** The alarm is armed again only for an earlier moment; one that comes too early does nothing. */
  function arm(): void {
    if (state.nextDue >= armedFor) return;
    disarm();
    armedFor = state.nextDue;
    disarm = clock.at(armedFor, () => {
      armedFor = Number.POSITIVE_INFINITY;
      submit({ type: 'tick' });
    });
  }

  function submit(input: Input): void {
    inputs.push(input);
    if (running) return;
    running = true;
    const before = state.version;
    for (let next = inputs.shift(); next !== undefined; next = inputs.shift()) guarded(turn, next);
    running = false;
    arm();
    if (state.version !== before) for (const listener of listeners) guarded(listener);
    if (fault === null) return;
    const { thrown } = fault;
    fault = null;
    throw thrown;
  }

  return {
    submit,
    state,
    onTurn(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      disarm();
      armedFor = Number.NEGATIVE_INFINITY;
    },
  };
}

function execute(executors: Executors, effect: Effect): void {
  const run = executors[effect.type] as (effect: Effect) => void;
  run(effect);
}
