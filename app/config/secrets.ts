/** Secrets: given as text, from a file, or from an environment variable. */
import type { SecretSource } from './leaves.ts';
import type { Fault } from './problems.ts';
import type { FileConfig } from './schema.ts';
import type { Path } from './yaml.ts';

/** What a configuration may read beside its own text. */
export interface Outside {
  /** The value of an environment variable. */
  variable(name: string): string | undefined;
  /** The text of a file; throws where it cannot be read. */
  readFile(path: string): string;
}

/** The configuration with its secrets read. Sizes are bytes, durations milliseconds. */
export interface Config extends Omit<FileConfig, 'security' | 'mqtt'> {
  readonly security: Omit<FileConfig['security'], 'adminToken' | 'apiKeys'> & {
    /** Null: open on the LAN. */
    readonly adminToken: string | null;
    readonly apiKeys: readonly string[];
  };
  readonly mqtt: Omit<FileConfig['mqtt'], 'password' | 'embedded'> & {
    readonly password: string | null;
    readonly embedded: Omit<FileConfig['mqtt']['embedded'], 'password'> & {
      /** Null: made at the first start and kept in the state folder. */
      readonly password: string | null;
    };
  };
}

/** Reads every secret; what cannot be read is a fault at its key. */
export function readSecrets(
  file: FileConfig,
  outside: Outside,
): { readonly config: Config; readonly faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const read = (source: SecretSource, path: Path): string => {
    const result = readSecret(source, outside);
    if ('value' in result) return result.value;
    faults.push({ path, kind: 'wrong_value', expected: result.expected });
    return '';
  };
  const { security, mqtt, ...rest } = file;
  const { adminToken, apiKeys } = security;
  const config: Config = {
    ...rest,
    security: {
      ...security,
      adminToken: adminToken === null ? null : read(adminToken, ['security', 'adminToken']),
      apiKeys: apiKeys.map((key, index) => read(key, ['security', 'apiKeys', index])),
    },
    mqtt: {
      ...mqtt,
      password: mqtt.password === null ? null : read(mqtt.password, ['mqtt', 'password']),
      embedded: {
        ...mqtt.embedded,
        password:
          mqtt.embedded.password === 'auto'
            ? null
            : read(mqtt.embedded.password, ['mqtt', 'embedded', 'password']),
      },
    },
  };
  return { config, faults };
}

function readSecret(
  source: SecretSource,
  outside: Outside,
): { readonly value: string } | { readonly expected: string } {
  if (typeof source === 'string') return { value: source };
  if ('env' in source) {
    const value = outside.variable(source.env);
    if (value !== undefined && value !== '') return { value };
    return { expected: `the environment variable ${source.env} to be set and not empty` };
  }
  try {
    const value = outside.readFile(source.file).replace(/\r?\n$/, '');
    return value === '' ? { expected: `${source.file} not to be empty` } : { value };
  } catch {
    return { expected: `${source.file} to be a file that can be read` };
  }
}
