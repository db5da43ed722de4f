/** The reference of all keys as Markdown, made from the JSON schema: so the text cannot drift from the code. */

import { ENV_FORMS } from '../../app/config/env-forms.ts';
import type { SchemaNode } from '../../app/config/known-keys.ts';
import { GLOBAL_SETTINGS, MODEL_SETTINGS } from '../../app/config/setting-keys.ts';
import { DURATION_PATTERN, SIZE_PATTERN } from '../../app/config/units.ts';
import { configJsonSchema } from '../../app/config.ts';

/** A part of docs/configuration.md that is generated: between `<!-- NAME -->` and `<!-- /NAME -->`. */
export const PARTS: Readonly<Record<string, () => string>> = {
  keys: keysPart,
  settings: settingsPart,
  variables: variablesPart,
};

/** The document with its generated parts made anew. Throws where a part has no place. */
export function withParts(document: string): string {
  return Object.entries(PARTS).reduce((text, [name, make]) => {
    const place = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- /${name} -->)`);
    if (!place.test(text)) throw new Error(`no place for ${name}`);
    return text.replace(place, (_, begin: string, end: string) => `${begin}\n${make()}\n\n${end}`);
  }, document);
}

/** One line for each form. */
function variablesPart(): string {
  const names = Map.groupBy([...ENV_FORMS.keys()].sort(), (name) => ENV_FORMS.get(name)?.expected ?? '');
  const lines = [...names].map(
    ([expected, group]) => `- ${group.map((name) => `\`${name}\``).join(', ')}: ${expected}.`,
  );
  return [...lines, '- `GGML_*`: a text.'].join('\n');
}

function keysPart(): string {
  const { properties = {} } = configJsonSchema() as SchemaNode;
  return Object.entries(properties)
    .map(([key, node]) => {
      const list = onceEach(rows(key, node));
      const about = list[0]?.key === key ? '' : `${String(node['description'] ?? '')}\n\n`;
      return `### ${key}\n\n${about}${table(list)}`;
    })
    .join('\n\n');
}

/** Forms of one key may share a key of theirs. */
function onceEach(list: readonly Row[]): Row[] {
  return [...new Map(list.map((row) => [JSON.stringify(row), row])).values()];
}

interface Row {
  readonly key: string;
  readonly values: string;
  readonly default: string;
  readonly meaning: string;
}

/** Columns are padded, as the formatter has them. */
function table(list: readonly Row[]): string {
  const lines = [
    ['key', 'values', 'default', 'meaning'],
    ...list.map((row) => [`\`${row.key}\``, row.values, row.default, row.meaning]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const shown = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = lines;
  return [shown(head), shown(widths.map((width) => '-'.repeat(width))), ...body.map(shown)].join('\n');
}

function rows(key: string, node: SchemaNode): Row[] {
  const inner = children(key, node);
  const own = inner.length === 0 || node.anyOf !== undefined ? [row(key, node)] : [];
  return [...own, ...inner];
}

function children(key: string, node: SchemaNode): Row[] {
  const { properties = {}, additionalProperties, items, anyOf = [] } = node;
  const required = new Set(Array.isArray(node['required']) ? node['required'] : []);
  const named = Object.entries(properties).flatMap(([name, child]) =>
    rows(`${key}.${name}`, required.has(name) ? { ...child, isRequired: true } : child),
  );
  const hasKeys = (child: SchemaNode) => child.properties !== undefined || child.anyOf !== undefined;
  const entries =
    typeof additionalProperties === 'object' && hasKeys(additionalProperties)
      ? children(`${key}.NAME`, additionalProperties)
      : [];
  const list = items as SchemaNode | undefined;
  const ofList = list !== undefined && list.properties !== undefined ? children(`${key}[]`, list) : [];
  const isSecret = anyOf.some((form) => Object.hasOwn(form.properties ?? {}, 'env'));
  return [...named, ...entries, ...ofList, ...(isSecret ? [] : anyOf.flatMap((form) => children(key, form)))];
}

function row(key: string, node: SchemaNode): Row {
  const examples = Array.isArray(node['examples']) ? ` Example: ${code(node['examples'][0])}.` : '';
  const later = node['noEffectYet'] === true ? ' **No effect yet.**' : '';
  const hasDefault = Object.hasOwn(node, 'default');
  return {
    key,
    values: valuesOf(node).replaceAll('|', '\\|'),
    default: hasDefault ? code(node['default']) : node['isRequired'] === true ? 'required' : '',
    meaning: `${String(node['description'] ?? '')}${examples}${later}`.replaceAll('|', '\\|'),
  };
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function valuesOf(node: SchemaNode): string {
  const { anyOf, items } = node;
  if (anyOf !== undefined) return [...new Set(anyOf.map(valuesOf))].join(' or ');
  if (node['const'] !== undefined) return code(node['const']);
  if (Array.isArray(node['enum'])) return node['enum'].map(code).join(', ');
  if (node['pattern'] === SIZE_PATTERN) return 'size';
  if (node['pattern'] === DURATION_PATTERN) return 'duration';
  if (items !== undefined) return `list of ${valuesOf(items as SchemaNode)}`;
  if (Object.hasOwn(node.properties ?? {}, 'env') && Object.keys(node.properties ?? {}).length === 1)
    return '`{env: NAME}`';
  if (Object.hasOwn(node.properties ?? {}, 'file') && Object.keys(node.properties ?? {}).length === 1)
    return '`{file: PATH}`';
  switch (node['type']) {
    case 'integer':
      return `${String(node['minimum'])} to ${String(node['maximum'])}`;
    case 'boolean':
      return '`true`, `false`';
    case 'null':
      return '`null`';
    case 'object':
      return node.properties === undefined &&
        typeof node.additionalProperties === 'object' &&
        node.additionalProperties.properties === undefined &&
        node.additionalProperties.anyOf === undefined
        ? 'NAME: value'
        : 'section';
    default:
      return 'text';
  }
}

function settingsPart(): string {
  const keys = [...GLOBAL_SETTINGS, ...MODEL_SETTINGS.map((key) => `models.NAME.${key}`)];
  return keys.map((key) => `\`${key}\``).join(', ');
}
