/** Settings as values on top of a configuration. Pure. */

import type { Mode } from '../core/types.ts';
import type { Config } from './secrets.ts';
import { modelKey } from './setting-keys.ts';

/** Checked values (milliseconds, bytes) by full key. */
export type SettingValues = ReadonlyMap<string, unknown>;

export interface ModelSettings {
  readonly mode?: Mode;
  readonly keepLoaded?: boolean;
  readonly idleUnload?: number | 'never';
  readonly context?: number;
  readonly parallel?: number;
}

/** The settings of one model. Each value has passed the schema of its key. */
export function modelSettings(values: SettingValues, model: string): ModelSettings {
  const own = [...values].flatMap(([key, value]) => {
    const parts = modelKey(key);
    return parts?.model === model ? [[parts.key, value] as const] : [];
  });
  return Object.fromEntries(own) as ModelSettings;
}

/** The configuration with the settings that are not of a model on top. Each has passed its schema. */
export function applySettings(config: Config, values: SettingValues): Config {
  let result = config;
  for (const [key, value] of values) {
    if (modelKey(key) === null) result = withValue(result, key.split('.'), value);
  }
  return result;
}

function withValue<T extends object>(target: T, path: readonly string[], value: unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return target;
  const inner = (target as Readonly<Record<string, unknown>>)[step];
  const next =
    rest.length === 0 || typeof inner !== 'object' || inner === null ? value : withValue(inner, rest, value);
  return { ...target, [step]: next };
}
