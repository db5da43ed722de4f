/** The log: pino's JSON lines on standard output, without secrets. */
import { type DestinationStream, type LogFn, type Logger, pino } from 'pino';

export interface Log {
  readonly logger: Logger;
  /** Takes a value that must never be in a line. Shorter ones than four characters are left to their keys. */
  hide(secret: string): void;
}

const SECRET_KEYS = [
  'password',
  'token',
  'adminToken',
  'apiKey',
  'apiKeys',
  'secret',
  'authorization',
  'cookie',
  'LLAMA_API_KEY',
];
const HIDDEN = '[hidden]';

/**
 * A value is hidden by the name of its key, down to three levels, and wherever it stands once it was given
 * to `hide`: in a message, in an error's text, in a URL.
 */
export function makeLog(level: string, destination?: DestinationStream): Log {
  let secrets: readonly string[] = [];
  const hideAll = (line: string): string => {
    let safe = line;
    for (const secret of secrets) safe = safe.replaceAll(secret, HIDDEN);
    return safe;
  };
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_KEYS.flatMap(pathsOf), censor: HIDDEN },
    hooks: { streamWrite: hideAll, logMethod: writeShort },
    formatters: {
      log: (fields: Record<string, unknown>) => shortened(fields, DEPTH) as Record<string, unknown>,
    },
    serializers: { err: (thrown: Error) => shortened(pino.stdSerializers.err(thrown), DEPTH) },
  };
  return {
    logger: destination === undefined ? pino(options) : pino(options, destination),
    hide: (secret) => {
      if (secret.length < 4) return;
      // As it stands inside a JSON line, and in a URL.
      const forms = [JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
      // The longest first: one may be a part of another.
      secrets = [...new Set([...secrets, ...forms])].toSorted((a, b) => b.length - a.length);
    },
  };
}

/** No client and no instance makes a line longer than this allows. */
const LONGEST_TEXT = 2_000;
const MOST_ENTRIES = 50;
const DEPTH = 4;

/** The same with long texts cut, long lists ended and what lies deeper left out; errors stay for their serializer. */
function shortened(value: unknown, depth: number): unknown {
  if (typeof value === 'string') {
    const more = value.length - LONGEST_TEXT;
    return more > 0 ? `${value.slice(0, LONGEST_TEXT)}... (${more} more characters)` : value;
  }
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') return shortened(value.toJSON(), depth);
  if (depth === 0) return '...';
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((each) => shortened(each, depth - 1));
  const entries = Object.entries(value).slice(0, MOST_ENTRIES);
  return Object.fromEntries(entries.map(([key, each]) => [key, shortened(each, depth - 1)]));
}

/** An error by itself gives the line its message. */
function writeShort(this: Logger, args: Parameters<LogFn>, write: LogFn): void {
  const [first] = args as unknown[];
  const texts = first instanceof Error && args.length === 1 ? [{ err: first }, first.message] : args;
  const [fields, ...rest] = texts.map((each) => (typeof each === 'string' ? shortened(each, DEPTH) : each));
  write.apply(this, [fields, ...rest] as Parameters<LogFn>);
}

function pathsOf(key: string): string[] {
  return [key, `*.${key}`, `*.*.${key}`];
}
