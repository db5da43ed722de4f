/**
 * Carries a command out and makes the answer for `ack`.
 */

import type { Logger } from 'pino';
import type { RunScenario } from '../../core/drill.ts';
import type { CommandResult } from '../../core/request.ts';
import { slugs } from '../../core/slug.ts';
import { AppError } from '../../errors.ts';
import type { Drills } from '../../ports/drills.ts';
import type { EventLog, Gate, Settings } from '../../ports.ts';
import { type Asked, parseCommand, shown } from './commands.ts';
import { commandOf } from './topics.ts';

export interface CommandDeps {
  readonly gate: Gate;
  readonly settings: Settings;
  readonly events: Pick<EventLog, 'seq'>;
  readonly drills: Pick<Drills, 'runEach'>;
}

export interface RunnerOptions extends CommandDeps {
  readonly base: string;
  readonly instance: string;
  readonly log: Logger;
}

/** Commands under way; a load takes its time. */
const MAX_COMMANDS = 32;

/** The answer on `ack`. `model` is the slug as in the topic, absent for all models. */
export interface Ack {
  readonly key: string;
  readonly model?: string;
  readonly ok: boolean;
  /** Number of the newest event when it was done. */
  readonly seq?: number;
  /** Names key, value and what was expected. */
  readonly error?: string;
}

/**
 * Takes the messages on command topics; a retained one is ignored, since it may be of any age. `answer` gets
 * what belongs on `ack`.
 */
export function commandRunner(options: RunnerOptions, answer: (ack: string) => void) {
  let open = 0;
  return (topic: string, payload: Buffer, isRetained: boolean) => {
    const command = commandOf(options.base, options.instance, topic);
    if (command === null) return;
    if (isRetained) {
      options.log.warn({ topic }, 'MQTT: a retained command was ignored; publish commands without retain');
      return;
    }
    if (open >= MAX_COMMANDS) {
      const error = `${MAX_COMMANDS} commands are under way already: ${shown(command.key)} was not taken`;
      answer(JSON.stringify({ key: command.key, ok: false, error }));
      return;
    }
    open += 1;
    void runCommand(command, payload.toString(), options).then((ack) => {
      open -= 1;
      answer(JSON.stringify(ack));
    });
  };
}

/** Resolves when it is done, which for a load takes as long as the load. Never rejects. */
export async function runCommand(
  command: { readonly model: string | null; readonly key: string },
  payload: string,
  deps: CommandDeps,
): Promise<Ack> {
  const head = { key: command.key, ...(command.model === null ? {} : { model: command.model }) };
  const parsed = parseCommand(command.key, payload, command.model !== null);
  if (!parsed.ok) return { ...head, ok: false, error: parsed.error };
  const names = modelsOf(command.model, deps.gate);
  if (typeof names === 'string') return { ...head, ok: false, error: `${command.key}: ${names}` };
  const results = await Promise.all(ask(parsed.asked, names, deps));
  const errors = results.flatMap((result) => (result.ok ? [] : [result.message]));
  if (errors.length > 0) return { ...head, ok: false, error: errors.join('; ') };
  return { ...head, ok: true, seq: deps.events.seq };
}

/** Names of the models that are meant, or why there are none. */
function modelsOf(wanted: string | null, gate: Gate): readonly string[] | string {
  const names = slugs(gate.view().models.map((model) => model.name));
  if (names.size === 0) return 'there is no model';
  if (wanted === null) return [...names.keys()];
  const named = [...names].filter(([, own]) => own === wanted).map(([name]) => name);
  return named.length > 0
    ? named
    : `unknown model ${shown(wanted)}, expected one of ${[...names.values()].join(', ')}`;
}

function ask(asked: Asked, models: readonly string[], deps: CommandDeps): Promise<CommandResult>[] {
  if ('do' in asked && asked.do === 'drill') return [drillEach(asked.scenario, models, deps.drills)];
  if ('do' in asked)
    return models.map((model) => settled(() => deps.gate.command({ do: asked.do, model }).done));
  const settings = settingsOf(asked, models);
  return settings.map(({ key, value }) =>
    settled(async () => {
      await deps.settings.set(key, value);
      return { ok: true };
    }),
  );
}

/** What a drill found is told by its events; here it counts that it could be run. */
async function drillEach(
  scenario: RunScenario,
  models: readonly string[],
  drills: CommandDeps['drills'],
): Promise<CommandResult> {
  const errors = await drills.runEach(scenario, models);
  if (errors.length === 0) return { ok: true };
  return { ok: false, code: 'drill_refused', message: errors.join(' ') };
}

type Setting = { readonly key: string; readonly value: unknown };

/** Keys and values as settings are named and written: as in the configuration file. */
function settingsOf(asked: Exclude<Asked, { do: unknown }>, models: readonly string[]): readonly Setting[] {
  const forEach = (key: string, value: unknown = asked.value) =>
    models.map((model) => ({ key: `models.${model}.${key}`, value }));
  switch (asked.set) {
    case 'mode':
      return forEach('mode');
    case 'keep_loaded':
      return forEach('keepLoaded');
    case 'idle_unload':
      return forEach('idleUnload', asked.value ?? 'never');
    case 'ram_budget':
      return [{ key: 'memory.budget', value: asked.value }];
  }
}

async function settled(run: () => Promise<CommandResult>): Promise<CommandResult> {
  try {
    return await run();
  } catch (thrown) {
    const error = AppError.from(thrown);
    return { ok: false, code: error.code, message: error.message };
  }
}
