/**
 * A home whose state and events a test writes: the ports that the real HTTP server reads, with a script
 * behind them in place of the core.
 */
import type { Fact, FactBody } from '../../../app/core/facts.ts';
import type { Command } from '../../../app/core/request.ts';
import type { View } from '../../../app/core/view.ts';
import { slice } from '../../../app/event-log/ring.ts';
import type { EventLog, Gate, Settings } from '../../../app/ports.ts';
import { aView, koreanTime } from './views.ts';

export interface ScriptedHome {
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  /** What the page asked for, oldest first. */
  readonly asked: readonly Asked[];
  view(): View;
  /** Changes what the server shows; `seq` and `time` are always true. */
  show(change: Partial<View>): void;
  /** Tells facts now, after those before. */
  tell(...bodies: FactBody[]): void;
  /** Takes facts as they are, as a history. */
  remember(facts: readonly Fact[]): void;
  /** Called for each command; a script answers by `show` and `tell`. */
  onAsked(answer: (asked: Asked) => void): void;
}

export type Asked =
  | { readonly kind: 'command'; readonly command: Command }
  | { readonly kind: 'setting'; readonly key: string; readonly value: unknown };

export function scriptedHome(first: Partial<View> = {}): ScriptedHome {
  let current = aView(first);
  let facts: Fact[] = [];
  const asked: Asked[] = [];
  const watchers = new Set<() => void>();
  const listeners = new Set<(fact: Fact) => void>();
  let answer = (_asked: Asked): void => {};
  const seq = (): number => facts.at(-1)?.seq ?? 0;
  const changed = (): void => watchers.forEach((watcher) => void watcher());
  const ask = (one: Asked): void => {
    asked.push(one);
    answer(one);
  };
  const view = (): View => ({ ...current, seq: seq(), time: koreanTime(Date.now()) });

  const gate: Gate = {
    request: unscripted,
    attemptEnded: unscripted,
    abandoned: unscripted,
    slow: unscripted,
    position: unscripted,
    command(command) {
      ask({ kind: 'command', command });
      return { accepted: seq(), done: Promise.resolve({ ok: true, seq: seq() }) };
    },
    view,
    onChange(listener) {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
  };
  const events: EventLog = {
    get seq() {
      return seq();
    },
    since: (after, limit) =>
      slice(facts, { seq: after, limit, known: seq(), missing: (facts[0]?.seq ?? 1) - 1 }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const settings: Settings = {
    list: () => ({}),
    async set(key, value) {
      ask({ kind: 'setting', key, value });
    },
    async setAll(entries) {
      for (const [key, value] of Object.entries(entries)) ask({ kind: 'setting', key, value });
    },
    reset: async () => {},
  };
  return {
    gate,
    events,
    settings,
    asked,
    view,
    show(change) {
      current = { ...current, ...change };
      changed();
    },
    tell(...bodies) {
      for (const body of bodies) {
        const fact: Fact = { v: 1, seq: seq() + 1, time: koreanTime(Date.now()), ...body };
        facts.push(fact);
        for (const listener of listeners) listener(fact);
      }
      changed();
    },
    remember(history) {
      facts = [...history];
      changed();
    },
    onAsked(how) {
      answer = how;
    },
  };
}

function unscripted(): never {
  throw new Error('A scripted home forwards nothing: the test scripts the model API itself.');
}
