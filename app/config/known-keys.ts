/** Which keys the schema knows at a place; read from the JSON schema, so that there is one list only. */
import type { Path } from './yaml.ts';

export interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode | readonly SchemaNode[];
  readonly anyOf?: readonly SchemaNode[];
  readonly [key: string]: unknown;
}

/** Keys that may stand in the section at `path`; empty where it is no section of fixed keys. */
export function keysAt(root: SchemaNode, path: Path): string[] {
  let nodes: SchemaNode[] = branches(root);
  for (const step of path) nodes = nodes.flatMap((node) => inside(node, step)).flatMap(branches);
  return [...new Set(nodes.flatMap((node) => Object.keys(node.properties ?? {})))];
}

/** Every key by its full path (`listen.port`), without those inside lists and named entries. */
export function fixedPaths(root: SchemaNode, prefix = ''): string[] {
  return Object.entries(root.properties ?? {}).flatMap(([key, node]) => [
    `${prefix}${key}`,
    ...fixedPaths(node, `${prefix}${key}.`),
  ]);
}

export function branches(node: SchemaNode): SchemaNode[] {
  return node.anyOf === undefined ? [node] : node.anyOf.flatMap(branches);
}

export function inside(node: SchemaNode, step: PropertyKey): SchemaNode[] {
  const named = node.properties?.[String(step)];
  if (named !== undefined) return [named];
  if (typeof node.additionalProperties === 'object') return [node.additionalProperties];
  const items = node.items;
  if (items === undefined) return [];
  return Array.isArray(items) ? [...items] : [items as SchemaNode];
}
