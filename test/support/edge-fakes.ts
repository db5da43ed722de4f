/**
 * Small honest stand-ins for what the HTTP edge stands on: an event log that keeps the last
 * facts, a gate that records commands, settings in memory.
 */

import type { DrillReport } from '../../app/core/drill-report.ts';
import type { Fact, FactBody } from '../../app/core/facts.ts';
import type { Command, CommandResult } from '../../app/core/request.ts';
import type { ModelView, View } from '../../app/core/view.ts';
import { AppError } from '../../app/errors.ts';
import { inTurn } from '../../app/inspect/drill/in-turn.ts';
import type { DrillAsked, Drills } from '../../app/ports/drills.ts';
import type { EventLog, Gate, Settings } from '../../app/ports.ts';

export interface MemoryLog extends EventLog {
  append(body: FactBody): Fact;
  readonly listeners: () => number;
}

/** Keeps the newest `keep` facts, beginning after number `first`. */
export function memoryLog(keep = 1_000, first = 0): MemoryLog {
  const facts: Fact[] = [];
  const listeners = new Set<(fact: Fact) => void>();
  let seq = first;
  return {
    get seq() {
      return seq;
    },
    since(after, limit) {
      // As the real log: a number that was never given means another log, so all that is kept comes.
      const from = after > seq ? 0 : after;
      const events = facts.filter((fact) => fact.seq > from).slice(0, limit);
      const oldest = facts[0]?.seq ?? seq + 1;
      const gap = after < oldest - 1 || after > seq;
      return { events, next: events.at(-1)?.seq ?? Math.min(after, seq), gap };
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    append(body) {
      seq += 1;
      const fact: Fact = { v: 1, seq, time: '2026-11-30T12:00:00.000Z', ...body };
      facts.push(fact);
      if (facts.length > keep) facts.shift();
      for (const listener of listeners) listener(fact);
      return fact;
    },
    listeners: () => listeners.size,
  };
}

export interface RecordingGate extends Gate {
  readonly commands: Command[];
  /** Changes the view and tells those who watch. */
  show(change: Partial<View>): void;
  /** Ends the oldest command that still runs. */
  finish(result: CommandResult): void;
  readonly watchers: () => number;
  /** How often the view was asked for. */
  readonly views: () => number;
}

export function recordingGate(first: View): RecordingGate {
  let view = first;
  let views = 0;
  const watchers = new Set<() => void>();
  const running: ((result: CommandResult) => void)[] = [];
  const commands: Command[] = [];
  return {
    request() {},
    attemptEnded() {},
    abandoned() {},
    slow() {},
    position: () => null,
    command(command) {
      commands.push(command);
      const { promise, resolve } = Promise.withResolvers<CommandResult>();
      running.push(resolve);
      return { accepted: view.seq, done: promise };
    },
    view() {
      views += 1;
      return view;
    },
    onChange(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    commands,
    show(change) {
      view = { ...view, ...change };
      for (const watcher of watchers) watcher();
    },
    finish: (result) => running.shift()?.(result),
    watchers: () => watchers.size,
    views: () => views,
  };
}

export interface RecordingDrills extends Drills {
  readonly asked: DrillAsked[];
  /** The oldest drill that runs cannot be refused any more. */
  begin(): void;
  /** It ends with its report, which is kept, or with an error. */
  finish(how: DrillReport | AppError): void;
}

export function recordingDrills(): RecordingDrills {
  const kept: DrillReport[] = [];
  const asked: DrillAsked[] = [];
  const running: { readonly began: () => void; readonly end: (how: DrillReport | AppError) => void }[] = [];
  const run: Drills['run'] = (what, began = () => {}) => {
    asked.push(what);
    const { promise, resolve, reject } = Promise.withResolvers<DrillReport>();
    running.push({ began, end: (how) => (how instanceof AppError ? reject(how) : resolve(how)) });
    return promise;
  };
  return {
    asked,
    reports: () => kept,
    run,
    runEach: inTurn(run),
    keep: (report) => void kept.unshift(report),
    begin: () => running[0]?.began(),
    finish(how) {
      if (!(how instanceof AppError)) kept.unshift(how);
      running.shift()?.end(how);
    },
  };
}

/** Settings with these defaults; a value has to have its default's type. */
export function memorySettings(defaults: Readonly<Record<string, unknown>>): Settings {
  const made = new Map<string, unknown>();
  const settings: Settings = {
    list() {
      const entries = Object.entries(defaults).map(([key, value]) => [
        key,
        made.has(key)
          ? { value: made.get(key), source: 'settings' as const }
          : { value, source: 'default' as const },
      ]);
      return Object.fromEntries(entries);
    },
    async set(key, value) {
      await settings.setAll({ [key]: value });
    },
    async setAll(entries) {
      for (const [key, value] of Object.entries(entries)) {
        const wanted = typeof defaults[key];
        if (typeof value === wanted) continue;
        const text = `"${key}" is ${JSON.stringify(value)}, expected a ${wanted}.`;
        throw new AppError('invalid_setting', text, { details: { key } });
      }
      for (const [key, value] of Object.entries(entries)) made.set(key, value);
    },
    async reset(key) {
      made.delete(key);
    },
  };
  return settings;
}

export function modelView(change: Partial<ModelView> = {}): ModelView {
  return {
    name: 'chat',
    displayName: 'chat',
    aliases: ['gpt-4o-mini'],
    task: 'chat',
    mode: 'auto',
    status: 'stopped',
    placement: 'none',
    placements: ['gpu', 'cpu'],
    keepLoaded: false,
    idleUnload: 600,
    unloadAt: null,
    context: 8_192,
    parallel: 2,
    file: 'chat.gguf',
    outage: null,
    reduced: null,
    lastError: null,
    need: null,
    loadSeconds: {},
    tokensPerSecond: {},
    answerTokens: null,
    lastUsed: null,
    standby: null,
    ...change,
  };
}

export function homeView(change: Partial<View> = {}): View {
  return {
    seq: 0,
    time: '2026-11-30T12:00:00.000Z',
    version: '0.1.0',
    home: 'home',
    models: [modelView()],
    instances: [],
    requests: [],
    leases: 0,
    queue: 0,
    memory: null,
    gpus: [],
    problems: [],
    drill: null,
    counters: { requests: 0, failed: 0, failovers: 0 },
    lastDrill: null,
    lastFailover: null,
    ...change,
  };
}
