/** A home whose state, facts and settings a test writes itself, behind the ports that the publisher reads. */
import pino from 'pino';
import type { MemoryFile } from '../../../../app/adapters/mqtt/memory.ts';
import type { Fact, FactBody } from '../../../../app/core/facts.ts';
import type { Command, CommandResult } from '../../../../app/core/request.ts';
import type { View } from '../../../../app/core/view.ts';
import { AppError } from '../../../../app/errors.ts';
import type { EventLog, Gate, Settings } from '../../../../app/ports.ts';
import { type RecordingDrills, recordingDrills } from '../../../support/edge-fakes.ts';
import { homeView } from './views.ts';

export const silentLog = pino({ level: 'silent' });

export interface ScriptedHome {
  readonly gate: Gate;
  readonly events: EventLog;
  readonly settings: Settings;
  readonly drills: RecordingDrills;
  /** Commands as they came. */
  readonly commands: Command[];
  readonly set: { key: string; value: unknown }[];
  /** What the next commands come to. */
  result: CommandResult;
  show(view: Partial<View>): void;
  happen(fact: FactBody): Fact;
  /** Forgets facts up to this number, as a bounded log does. */
  forget(upTo: number): void;
}

export function scriptedHome(): ScriptedHome {
  let view = homeView();
  let facts: Fact[] = [];
  let seq = 0;
  const listeners = new Set<() => void>();
  const sinks = new Set<(fact: Fact) => void>();
  const home: ScriptedHome = {
    gate: {
      request: unused,
      attemptEnded: unused,
      abandoned: unused,
      slow: unused,
      position: unused,
      command(command) {
        home.commands.push(command);
        return { accepted: seq, done: Promise.resolve(home.result) };
      },
      view: () => view,
      onChange: (listener) => added(listeners, listener),
    },
    events: {
      get seq() {
        return seq;
      },
      since(after, limit) {
        const events = facts.filter((fact) => fact.seq > after).slice(0, limit);
        return { events, next: events.at(-1)?.seq ?? after, gap: (facts[0]?.seq ?? seq + 1) > after + 1 };
      },
      subscribe: (listener) => added(sinks, listener),
    },
    settings: {
      list: () => ({}),
      async set(key, value) {
        if (value === 'gpu') throw new AppError('invalid_setting', `${key}: got "gpu", expected auto or cpu`);
        home.set.push({ key, value });
      },
      async setAll(entries) {
        for (const [key, value] of Object.entries(entries)) await home.settings.set(key, value);
      },
      reset: async () => {},
    },
    drills: recordingDrills(),
    commands: [],
    set: [],
    result: { ok: true },
    show(part) {
      view = { ...view, ...part };
      for (const listener of listeners) listener();
    },
    happen(body) {
      seq += 1;
      const fact: Fact = {
        v: 1,
        seq,
        time: new Date(Date.UTC(2026, 10, 30) + seq * 1000).toISOString(),
        ...body,
      };
      facts.push(fact);
      for (const sink of sinks) sink(fact);
      return fact;
    },
    forget(upTo) {
      facts = facts.filter((fact) => fact.seq > upTo);
    },
  };
  return home;
}

/** A document that lives as long as the test; `saved` is what a restart would find. */
export function memoryFile(first: unknown = null): MemoryFile & { saved: unknown } {
  const file: MemoryFile & { saved: unknown } = {
    saved: first,
    read: async () => (file.saved === null ? { found: 'nothing' } : { found: 'data', data: file.saved }),
    write: async (data) => {
      file.saved = structuredClone(data);
    },
  };
  return file;
}

function added<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => void set.delete(item);
}

function unused(): never {
  throw new Error('MQTT takes no requests');
}
