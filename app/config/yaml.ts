/** YAML 1.2 text with the line of every key. */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

export type Path = readonly PropertyKey[];

export interface YamlFault {
  readonly line: number;
  readonly message: string;
}

export interface YamlFile {
  /** Plain data; null for an empty file. */
  readonly data: unknown;
  /** Line (from 1) of a key or list item, or of the nearest one above it that exists. */
  lineOf(path: Path): number | null;
}

/** Reads a YAML text; unresolved tags (`!secret`) and doubled keys are faults too. */
export function readYaml(text: string): { readonly file: YamlFile } | { readonly faults: YamlFault[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2' });
  const faults = [...document.errors, ...document.warnings].map((error) => ({
    line: lines.linePos(error.pos[0]).line,
    message: error.message,
  }));
  if (faults.length > 0) return { faults };
  try {
    const data: unknown = document.toJS({ maxAliasCount: 100 });
    return { file: { data, lineOf: (path) => lineOf(document, lines, path) } };
  } catch (thrown) {
    return { faults: [{ line: 1, message: thrown instanceof Error ? thrown.message : String(thrown) }] };
  }
}

function lineOf(document: Document, lines: LineCounter, path: Path): number | null {
  let node: unknown = document.contents;
  let offset: number | null = isNode(node) ? (node.range?.[0] ?? null) : null;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    const found = child(node, step);
    if (found === null) break;
    offset = found.offset ?? offset;
    node = found.node;
  }
  return offset === null ? null : lines.linePos(offset).line;
}

function child(node: unknown, step: PropertyKey): { offset: number | null; node: unknown } | null {
  if (isMap(node)) {
    const pair = node.items.find((item) => keyOf(item.key) === String(step));
    if (pair === undefined) return null;
    return { offset: isNode(pair.key) ? (pair.key.range?.[0] ?? null) : null, node: pair.value };
  }
  if (isSeq(node)) {
    const item: unknown = node.items[Number(step)];
    return isNode(item) ? { offset: item.range?.[0] ?? null, node: item } : null;
  }
  return null;
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}
