/**
 * Settings made on the page or from Home Assistant: the layer over the configuration file, kept in
 * `settings.json` in the state folder, in the notation of the file.
 */
import type { SettingChange, SettingValue } from '../core/request.ts';
import type { Problem } from '../core/types.ts';
import { AppError } from '../errors.ts';
import type { JsonFile, Settings } from '../ports.ts';
import type { LoadedConfig } from './parse.ts';
import {
  type CheckedSetting,
  checkSetting,
  GLOBAL_SETTINGS,
  MODEL_SETTINGS,
  modelKey,
  shownSetting,
} from './setting-keys.ts';
import { brokenFile, unknownEntries, unreadable } from './settings-problems.ts';
import type { SettingValues } from './settings-values.ts';

/** What settings stand on: the loaded file and the models as they are without settings. */
export interface SettingsBase {
  readonly loaded: LoadedConfig;
  /** By name: the values that a model has without settings, by setting (`idleUnload` in ms or `never`). */
  readonly models: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

export interface SettingsStore extends Settings {
  /** The same map until one of them changes. */
  values(): SettingValues;
  /** Called after a change is durable, with all values that are others now. */
  onChange(listener: (changes: readonly SettingChange[]) => void): () => void;
}

export interface OpenedSettings {
  readonly settings: SettingsStore;
  /** A broken file, entries that are not known. */
  readonly problems: readonly Problem[];
}

/** Reads the settings; `base` is asked whenever it is needed, since it changes with each reload and scan. */
export async function openSettings(file: JsonFile, base: () => SettingsBase): Promise<OpenedSettings> {
  const { entries, problems } = await readEntries(file);
  return { settings: settingsOver(file, entries, base), problems };
}

type Entries = Map<string, CheckedSetting>;

/** Characters of a list in an event. */
const TOLD_LENGTH = 500;

async function readEntries(file: JsonFile): Promise<{ entries: Entries; problems: Problem[] }> {
  const content = await file.read();
  if (content.found === 'nothing') return { entries: new Map(), problems: [] };
  if (content.found === 'unreadable') return { entries: new Map(), problems: [unreadable(content.cause)] };
  if (content.found === 'broken') return { entries: new Map(), problems: [brokenFile(content.aside)] };
  const entries: Entries = new Map();
  const wrong: string[] = [];
  for (const [key, input] of Object.entries(isRecord(content.data) ? content.data : {})) {
    const checked = checkSetting(key, input);
    if ('expected' in checked) wrong.push(key);
    else entries.set(checked.key, checked);
  }
  if (!isRecord(content.data)) return { entries, problems: [brokenFile(await file.keepAside())] };
  return { entries, problems: wrong.length === 0 ? [] : [unknownEntries(wrong, await file.keepAside())] };
}

function settingsOver(file: JsonFile, initial: Entries, base: () => SettingsBase): SettingsStore {
  let entries = initial;
  let current = valuesOf(entries);
  let writing: Promise<void> = Promise.resolve();
  const listeners = new Set<(changes: readonly SettingChange[]) => void>();

  /** One change after another: each is durable before it is told. */
  const change = (edit: (next: Entries) => void): Promise<void> => {
    const done = writing.then(async () => {
      const next: Entries = new Map(entries);
      edit(next);
      if (JSON.stringify([...next]) === JSON.stringify([...entries])) return;
      await file.write(Object.fromEntries([...next].map(([key, entry]) => [key, entry.written])));
      const after = valuesOf(next);
      const changes = changesBetween(base(), current, after);
      entries = next;
      current = after;
      if (changes.length > 0) for (const listener of listeners) listener(changes);
    });
    writing = done.catch(() => undefined);
    return done;
  };

  const values = () => current;
  const setAll = (given: Readonly<Record<string, unknown>>): Promise<void> => {
    const checked = Object.entries(given).map(([key, value]) => checkedOrThrow(key, value, base()));
    return change((next) => {
      for (const entry of checked) next.set(entry.key, entry);
    });
  };
  return {
    values,
    setAll: async (given) => setAll(given),
    set: async (key, value) => setAll({ [key]: value }),
    reset: async (key) => {
      const known = [...entries.keys()].includes(key) || keysOf(base()).includes(key);
      if (!known) throw invalid(key, undefined, 'a setting that there is');
      await change((next) => void next.delete(key));
    },
    list: () => listSettings(base(), values()),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function valuesOf(entries: Entries): SettingValues {
  return new Map([...entries].map(([key, entry]) => [key, entry.value]));
}

function changesBetween(base: SettingsBase, before: SettingValues, after: SettingValues): SettingChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const from = told(listed(base, before, key).value);
    const { value, source } = listed(base, after, key);
    const to = told(value);
    const model = modelKey(key)?.model;
    return from === to ? [] : [{ key, ...(model === undefined ? {} : { model }), from, to, source }];
  });
}

/** As an event carries it. */
function told(value: unknown): SettingValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return value === null || value === undefined ? null : JSON.stringify(value).slice(0, TOLD_LENGTH);
}

function checkedOrThrow(key: string, value: unknown, base: SettingsBase): CheckedSetting {
  const model = modelKey(key)?.model;
  if (model !== undefined && !base.models.has(model)) {
    throw invalid(
      key,
      value,
      `a model that there is: ${[...base.models.keys()].join(', ') || 'there is none yet'}`,
    );
  }
  const checked = checkSetting(key, value);
  if ('expected' in checked) throw invalid(key, value, checked.expected);
  return checked;
}

function invalid(key: string, value: unknown, expected: string): AppError {
  const shown = value === undefined ? '' : ` ${JSON.stringify(value).slice(0, 80)}`;
  return new AppError('invalid_setting', `${key}:${shown} is not right; expected ${expected}`, {
    details: { key, value, expected },
  });
}

function keysOf(base: SettingsBase): string[] {
  const ofModels = [...base.models.keys()].flatMap((model) =>
    MODEL_SETTINGS.map((key) => `models.${model}.${key}`),
  );
  return [...GLOBAL_SETTINGS, ...ofModels];
}

function listSettings(base: SettingsBase, values: SettingValues): ReturnType<Settings['list']> {
  return Object.fromEntries(keysOf(base).map((key) => [key, listed(base, values, key)]));
}

function listed(base: SettingsBase, values: SettingValues, key: string) {
  const value = values.has(key) ? values.get(key) : underlying(base, key);
  const source = values.has(key) ? 'settings' : base.loaded.fileKeys.has(key) ? 'file' : 'default';
  return { value: shownSetting(key, value), source } as const;
}

/** The value without settings, ms and bytes; undefined for a model that is gone. */
function underlying(base: SettingsBase, key: string): unknown {
  const ofModel = modelKey(key);
  if (ofModel === null) return valueAt(base.loaded.config, key);
  return base.models.get(ofModel.model)?.[ofModel.key];
}

function valueAt(config: object, key: string): unknown {
  return key.split('.').reduce<unknown>((value, step) => (isRecord(value) ? value[step] : undefined), config);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
