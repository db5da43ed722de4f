/** Rules that concern more than one key of the file. */
import type { Fault } from './problems.ts';
import type { FileConfig } from './schema.ts';
import type { Path } from './yaml.ts';

/** Names that are used twice or that name nothing. */
export function crossChecks(config: FileConfig): Fault[] {
  return [...modelNames(config), ...gpuNames(config), ...scheduleModels(config)];
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
