/** What obeys the configuration while it runs: the log, the schedules, a file that is read again. */
import type { LoadedConfig, ParsedConfig } from '../config.ts';
import type { Log } from '../log.ts';
import type { Drills } from '../ports/drills.ts';
import type { Clock, Gate } from '../ports.ts';
import { heedInLog, noticeOnce } from './heed.ts';
import type { PolicySource } from './policy-source.ts';
import { scheduledWork } from './scheduled.ts';

export interface FollowParts {
  readonly source: PolicySource;
  readonly loaded: LoadedConfig;
  readonly readConfig: () => ParsedConfig;
  readonly gate: Gate;
  readonly drills: Drills;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ConfigFollower {
  /** Reads the file again. */
  reload(): Promise<void>;
  stop(): void;
}

/** Begins at once. */
export function followConfig({
  source,
  loaded,
  readConfig,
  gate,
  drills,
  clock,
  log,
}: FollowParts): ConfigFollower {
  const notice = noticeOnce(log);
  const scheduled = scheduledWork({ gate, settings: source.settings, drills, clock, log: log.logger });
  const obey = (): void => {
    heedInLog(log, source.config());
    scheduled.follow(source.config());
  };
  notice(loaded);
  obey();
  source.settings.onChange(obey);
  return {
    async reload() {
      const read = readConfig();
      if (read.ok) notice(read);
      await source.reload(read);
      obey();
    },
    stop: scheduled.stop,
  };
}
