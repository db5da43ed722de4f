/** From the text of `llamastead.yaml` to a configuration, or to what is wrong in it. Pure. */
import { crossChecks } from './cross-checks.ts';
import type { SchemaNode } from './known-keys.ts';
import { noticesOf } from './notices.ts';
import { type ConfigProblem, describe, type Fault, faultsOf } from './problems.ts';
import { configJsonSchema, fileSchema } from './schema.ts';
import { type Config, type Outside, readSecrets } from './secrets.ts';
import { readYaml, type YamlFile } from './yaml.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Full paths of the keys that the file sets, with those of the sections around them. */
  readonly fileKeys: ReadonlySet<string>;
  /** What the file says in vain, with its lines. */
  readonly notices: readonly string[];
}

export type ParsedConfig =
  | ({ readonly ok: true } & LoadedConfig)
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/**
 * Reads a configuration. `text` null: there is no file, which is a valid configuration. `file` is its name
 * in messages. A wrong file gives every problem at once, in the order of its lines.
 */
export function parseConfig(text: string | null, file: string, outside: Outside): ParsedConfig {
  const yaml = readYaml(text ?? '');
  if ('faults' in yaml) {
    return {
      ok: false,
      problems: yaml.faults.map(({ line, message }) => ({
        ...{ file, line, key: '', value: null, suggestion: null, expected: 'YAML 1.2' },
        text: `${file}:${line}: not good YAML: ${message}`,
      })),
    };
  }
  const data = withoutEmptySections(yaml.file.data);
  const parsed = fileSchema.safeParse(data);
  if (!parsed.success) return failed(faultsOf(parsed.error.issues), file, yaml.file);
  const faults = crossChecks(parsed.data);
  const { config, faults: unread } = readSecrets(parsed.data, outside);
  if (faults.length + unread.length > 0) return failed([...faults, ...unread], file, yaml.file);
  const notices = noticesOf(file, yaml.file, configJsonSchema() as SchemaNode);
  return { ok: true, config, fileKeys: new Set(keysOf(data, '')), notices };
}

/** A top-level key without a value (all of its section commented out) is as if it were not there. */
function withoutEmptySections(data: unknown): unknown {
  if (data === null || data === undefined) return {};
  if (typeof data !== 'object' || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

function failed(faults: readonly Fault[], file: string, yaml: YamlFile): ParsedConfig {
  const schema = configJsonSchema() as SchemaNode;
  const problems = faults
    .map((fault) => describe(fault, { file, line: yaml.lineOf(fault.path), data: yaml.data, schema }))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return { ok: false, problems };
}

function keysOf(data: unknown, prefix: string): string[] {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return [];
  return Object.entries(data).flatMap(([key, value]) => [
    `${prefix}${key}`,
    ...keysOf(value, `${prefix}${key}.`),
  ]);
}
