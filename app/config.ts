/**
 * Configuration: defaults, then the file, then settings made on the page or from Home Assistant. Everything
 * here is pure but for settings, which keep one JSON document.
 */
export { cameInUse } from './config/gpus.ts';
export { type Images, resolveImages } from './config/images.ts';
export { type LoadedConfig, type ParsedConfig, parseConfig } from './config/parse.ts';
export { type MadePolicy, makePolicy, modelDefaults, type PolicyInput } from './config/policy.ts';
export type { ConfigProblem } from './config/problems.ts';
export { reloaded, waitsForRestart } from './config/reload.ts';
export { configJsonSchema } from './config/schema.ts';
export type { Config, Outside } from './config/secrets.ts';
export { openSettings, type SettingsBase, type SettingsStore } from './config/settings.ts';
export { applySettings, type SettingValues } from './config/settings-values.ts';
