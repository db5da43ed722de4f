/** From configuration, settings and what the machine has to the policy that the core is told. Pure. */
import type { DetectedGpu } from '../core/gpu-detection.ts';
import { type Model, PLACEMENTS, type Policy, type Problem } from '../core/types.ts';
import type { ModelFile } from '../ports.ts';
import { chooseGpus } from './gpus.ts';
import { resolveImages } from './images.ts';
import { autoContext, type MachineParts, type NamedModel, profilesOf } from './profiles.ts';
import type { Config } from './secrets.ts';
import { applySettings, type ModelSettings, modelSettings, type SettingValues } from './settings-values.ts';
import { scannedModels } from './zero-config.ts';

export interface PolicyInput {
  readonly config: Config;
  readonly settings: SettingValues;
  /** As the scan of the models folder found them. */
  readonly files: readonly ModelFile[];
  readonly detected: readonly DetectedGpu[];
  /** Of the machine. */
  readonly cores: number;
}

export interface MadePolicy {
  readonly policy: Policy;
  readonly problems: readonly Problem[];
}

/** Every model with its profiles, and what the user should mend. The same input gives the same policy. */
export function makePolicy(input: PolicyInput): MadePolicy {
  const config = applySettings(input.config, input.settings);
  const chosen = chooseGpus(config, input.detected);
  const { files, cores } = input;
  const parts: MachineParts = { config, gpus: chosen.gpus, files, cores, images: resolveImages(config) };
  const made = namedModels(config, files).map((named) =>
    modelOf(named, modelSettings(input.settings, named.name), parts),
  );
  return {
    policy: {
      home: config.mqtt.instance,
      models: new Map(made.map(({ model }) => [model.name, model])),
      gpus: chosen.gpus,
      memory: { reserve: config.memory.reserve, budget: config.memory.budget },
      queue: { depth: config.queue.depth, deadlineMs: config.queue.deadline },
      failover: { resume: config.failover.resume, returnAfterMs: config.failover.returnAfter },
      shutdown: { instances: config.shutdown.instances, graceMs: config.shutdown.grace },
    },
    problems: [...chosen.problems, ...made.flatMap(({ problems }) => problems)],
  };
}

/** The models as named in the file, or one for each scanned file. */
export function namedModels(config: Config, files: readonly ModelFile[]): NamedModel[] {
  if (config.models === 'auto') return scannedModels(files);
  return Object.entries(config.models).map(([name, entry]) => ({ name, displayName: name, entry }));
}

/** What each model's settings are without settings made on the page; the base of a settings list. */
export function modelDefaults(
  config: Config,
  files: readonly ModelFile[],
): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  return new Map(
    namedModels(config, files).map(({ name, entry }) => {
      const context = entry.context ?? autoContext(files.find(({ file }) => file === entry.file));
      const { keepLoaded, idleUnload, parallel } = entry;
      return [name, { mode: 'auto', keepLoaded, idleUnload, context, parallel }];
    }),
  );
}

function modelOf(
  named: NamedModel,
  settings: ModelSettings,
  parts: MachineParts,
): { readonly model: Model; readonly problems: readonly Problem[] } {
  const { name, displayName, entry } = named;
  const context = settings.context ?? entry.context;
  const set = {
    ...entry,
    ...(context === undefined ? {} : { context }),
    parallel: settings.parallel ?? entry.parallel,
  };
  const built = profilesOf({ name, displayName, entry: set }, parts);
  const idle = settings.idleUnload ?? entry.idleUnload;
  return {
    model: {
      name,
      displayName,
      aliases: entry.aliases,
      task: built.task,
      placements: entry.placements,
      profiles: Object.fromEntries(
        PLACEMENTS.flatMap((placement) => {
          const profile = built.profiles[placement];
          return profile === undefined ? [] : [[placement, profile] as const];
        }),
      ),
      idleUnloadMs: idle === 'never' ? null : idle,
      keepLoaded: settings.keepLoaded ?? entry.keepLoaded,
      mode: settings.mode ?? 'auto',
    },
    problems: built.problems,
  };
}
