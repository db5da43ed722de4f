/** Rules that concern more than one key of the file. */
import { PLACEMENTS } from '../core/types.ts';
import { refusePair } from './env-forms.ts';
import type { Fault } from './problems.ts';
import type { FileConfig } from './schema.ts';
import type { Path } from './yaml.ts';

/** Names that are used twice or that name nothing, and values that do not go together. */
export function crossChecks(config: FileConfig): Fault[] {
  return [...modelNames(config), ...modelEnvs(config), ...gpuNames(config), ...scheduleModels(config)];
}

function fault(path: Path, expected: string): Fault {
  return { path, kind: 'wrong_value', expected };
}

function modelNames(config: FileConfig): Fault[] {
  if (config.models === 'auto') return [];
  const owners = new Map(Object.keys(config.models).map((name) => [name, `the model ${name}`]));
  const faults: Fault[] = [];
  for (const [name, model] of Object.entries(config.models)) {
    for (const [index, alias] of model.aliases.entries()) {
      const owner = owners.get(alias);
      if (owner === undefined) owners.set(alias, `an alias of ${name}`);
      else
        faults.push(fault(['models', name, 'aliases', index], `a name of its own: it is already ${owner}`));
    }
  }
  return faults;
}

/** Of each placement, as its instances get them; told where the variable stands. */
function modelEnvs(config: FileConfig): Fault[] {
  if (config.models === 'auto') return [];
  return Object.entries(config.models).flatMap(([name, model]) => {
    const faults = PLACEMENTS.flatMap((placement) => {
      const own = model[placement].env ?? {};
      const refused = refusePair({ ...model.env, ...own });
      if (refused === null) return [];
      const section = Object.hasOwn(own, refused.name) ? [placement] : [];
      return [fault(['models', name, ...section, 'env', refused.name], refused.expected)];
    });
    return [...new Map(faults.map((one) => [one.path.join('.'), one])).values()];
  });
}

function gpuNames(config: FileConfig): Fault[] {
  if (config.gpus === 'auto') return [];
  const engines = Object.keys(config.engines);
  const seen = new Set<string>();
  return config.gpus.flatMap((gpu, index) => {
    const faults: Fault[] = [];
    if (seen.has(gpu.name)) faults.push(fault(['gpus', index, 'name'], 'a name that no other GPU has'));
    seen.add(gpu.name);
    if (gpu.engine !== undefined && !engines.includes(gpu.engine)) {
      faults.push(fault(['gpus', index, 'engine'], `one of the engines: ${engines.join(', ')}`));
    }
    return faults;
  });
}

function scheduleModels(config: FileConfig): Fault[] {
  if (config.models === 'auto') return [];
  const names = Object.keys(config.models);
  return config.schedules.flatMap((entry, index) =>
    entry.model === undefined || names.includes(entry.model)
      ? []
      : [fault(['schedules', index, 'model'], `one of the models: ${names.join(', ')}`)],
  );
}
