/** What the configuration says to the log. */
import type { Config, LoadedConfig } from '../config.ts';
import type { Log } from '../log.ts';

/** Says what the file sets in vain; once where it is read again unchanged. */
export function noticeOnce(log: Log): (loaded: LoadedConfig) => void {
  let told = new Set<string>();
  return ({ notices }) => {
    for (const text of notices) if (!told.has(text)) log.logger.warn(text);
    told = new Set(notices);
  };
}

/** The level that is wished for, and no line with a secret. */
export function heedInLog(log: Log, config: Config): void {
  log.logger.level = config.log.level;
  for (const secret of [config.security.adminToken ?? '', ...config.security.apiKeys]) log.hide(secret);
}
