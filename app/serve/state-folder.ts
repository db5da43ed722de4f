/** The state folder: everything that survives a restart is opened here. */

import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonFile } from '../adapters/json-file.ts';
import { makePassword } from '../adapters/mqtt/broker.ts';
import { openStore } from '../adapters/store.ts';
import type { ProblemCode } from '../core/codes.ts';
import type { Fact } from '../core/facts.ts';
import type { Carried } from '../core/state.ts';
import type { Problem } from '../core/types.ts';
import { AppError } from '../errors.ts';
import { openEventLog, type WritableEventLog } from '../event-log.ts';
import type { Log } from '../log.ts';
import type { Store } from '../ports/store.ts';
import type { Clock, JsonFile } from '../ports.ts';

export interface StateFolder {
  /** The store's file. */
  readonly file: string;
  readonly store: Store;
  readonly events: WritableEventLog;
  readonly settingsFile: JsonFile;
  readonly mqttFile: JsonFile;
  readonly drillsFile: JsonFile;
  readonly problems: readonly Problem[];
}

/** Where problems of the disk go while running. */
export interface ProblemSink {
  readonly problem: (problem: Problem) => void;
  readonly problemGone: (code: ProblemCode) => void;
}

/** A folder that cannot be used is a problem to show, never a reason not to start. */
export async function openStateFolder(
  folder: string,
  parts: { readonly clock: Clock; readonly log: Log; readonly sink: ProblemSink },
): Promise<StateFolder> {
  const { clock, log, sink } = parts;
  await mkdir(folder, { recursive: true }).catch((thrown: unknown) => {
    log.logger.warn({ folder }, `the state folder cannot be made: ${AppError.from(thrown).message}`);
  });
  const file = join(folder, 'state.json');
  const { store, problems } = await openStore(jsonFile(file), clock, sink, () =>
    makePassword(randomBytes(24)),
  );
  const mqttFile = jsonFile(join(folder, 'mqtt.json'));
  const events = await openEventLog({
    folder: join(folder, 'events'),
    clock,
    notice: (text) => log.logger.warn(text),
    ...sink,
  });
  const settingsFile = jsonFile(join(folder, 'settings.json'));
  const drillsFile = jsonFile(join(folder, 'drills.json'));
  return { file, store, events, settingsFile, mqttFile, drillsFile, problems };
}

/** Totals, what was learned of profiles, the last failover and the last drill go on where the run before ended. */
export function carriedOver({ store, events }: StateFolder): Carried {
  const kept = events.since(0, Number.MAX_SAFE_INTEGER).events;
  const last = kept.findLast((fact) => fact.type === 'failover');
  const lastFailover =
    last?.model === undefined
      ? null
      : { at: Date.parse(last.time), model: last.model, reason: last.reason ?? 'unknown' };
  const { counters, speeds, answerTokens, reductions, raisedLimits } = store.state();
  const learned = { speeds, answerTokens, reductions, raisedLimits };
  return { counters: { ...counters }, ...learned, lastFailover, lastDrill: lastDrill(kept) };
}

function lastDrill(facts: readonly Fact[]): Carried['lastDrill'] {
  const last = facts.findLast((fact) => fact.type === 'drill_finished');
  if (last?.model === undefined || last.scenario === undefined || last.verdict === undefined) return null;
  const { time, model, scenario, verdict } = last;
  return { at: Date.parse(time), model, scenario, verdict };
}
