/** What a right configuration should still be told: keys that are read and checked, but that nothing uses yet. */
import { branches, inside, type SchemaNode } from './known-keys.ts';
import { keyText } from './problems.ts';
import type { Path, YamlFile } from './yaml.ts';

/** One sentence for each key without effect that the file sets, in the order of its lines. */
export function noticesOf(file: string, { data, lineOf }: YamlFile, schema: SchemaNode): string[] {
  const found = [
    ...idleKeys(schema, data, []).map((path) => ({ path, what: keyText(path) })),
    ...splits(data).map((path) => ({ path, what: `${keyText(path)}: split` })),
  ];
  return found
    .map(({ path, what }) => ({ line: lineOf(path) ?? 0, what }))
    .sort((a, b) => a.line - b.line)
    .map(({ line, what }) => `${file}:${line}: ${what} has no effect yet in this version`);
}

function idleKeys(node: SchemaNode, data: unknown, path: Path): Path[] {
  if (node['noEffectYet'] === true) return [path];
  if (typeof data !== 'object' || data === null) return [];
  const unique = new Map<string, Path>();
  for (const [key, value] of Object.entries(data)) {
    const at = [...path, key];
    const nodes = branches(node).flatMap((form) => inside(form, key));
    for (const idle of nodes.flatMap((child) => idleKeys(child, value, at))) unique.set(keyText(idle), idle);
  }
  return [...unique.values()];
}

/** A placement that is a word of the contract and has no profile yet. */
function splits(data: unknown): Path[] {
  const { models } = (data ?? {}) as { readonly models?: unknown };
  if (typeof models !== 'object' || models === null) return [];
  return Object.entries(models).flatMap(([name, model]: [string, unknown]) => {
    const { placements } = (model ?? {}) as { readonly placements?: unknown };
    const at = Array.isArray(placements) ? placements.indexOf('split') : -1;
    return at < 0 ? [] : [['models', name, 'placements', at]];
  });
}
