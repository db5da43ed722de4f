/** The log: pino's JSON lines on standard output, without secrets. */
import { type DestinationStream, type Logger, pino } from 'pino';

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
    hooks: { streamWrite: hideAll },
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

function pathsOf(key: string): string[] {
  return [key, `*.${key}`, `*.*.${key}`];
}
