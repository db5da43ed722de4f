/** `/v1/models` and `/v1/models/:id` in OpenAI's form, answered without waking anything. */
import type { CatalogModel } from './options.ts';

/** A model by name or alias. */
export function findModel(catalog: readonly CatalogModel[], name: string): CatalogModel | undefined {
  return catalog.find((model) => model.name === name || model.aliases.includes(name));
}

export function modelList(catalog: readonly CatalogModel[]): string {
  return JSON.stringify({ object: 'list', data: catalog.map((model) => entry(model, model.name)) });
}

/** The entry under the name that was asked for. */
export function modelEntry(model: CatalogModel, name: string): string {
  return JSON.stringify(entry(model, name));
}

function entry(model: CatalogModel, id: string): Record<string, unknown> {
  return {
    id,
    object: 'model',
    created: 0,
    owned_by: 'llamastead',
    name: model.displayName,
    aliases: model.aliases,
    task: model.task,
    context_length: model.context,
  };
}
