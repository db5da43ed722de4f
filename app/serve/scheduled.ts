/** What the configuration's schedules do: commands and settings, as a person would give them. */
import { schedules } from '../adapters/cron/schedules.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import type { Drills } from '../ports/drills.ts';
import type { Clock, Gate, Settings } from '../ports.ts';

type Entry = Config['schedules'][number];

export interface ScheduledParts {
  readonly gate: Pick<Gate, 'command' | 'view'>;
  readonly settings: Pick<Settings, 'setAll'>;
  readonly drills: Pick<Drills, 'runEach'>;
  readonly clock: Clock;
  readonly log: {
    info(fields: object, text: string): void;
    warn(fields: object, text: string): void;
  };
}

export interface ScheduledWork {
  /** Takes the schedules of this configuration from now on. */
  follow(config: Pick<Config, 'schedules' | 'timezone'>): void;
  stop(): void;
}

export function scheduledWork(parts: ScheduledParts): ScheduledWork {
  const { clock, log } = parts;
  const all = schedules<Entry>({
    clock,
    run(entry) {
      log.info({ schedule: entry }, `a schedule runs: ${words(entry)}`);
      void carryOut(entry, parts).catch((thrown: unknown) => failed(entry, AppError.from(thrown).message));
    },
    tooLate: (entry, ms) =>
      failed(entry, `it came due ${Math.round(ms / 60_000)} minutes ago, too late to run`),
  });
  const failed = (entry: Entry, why: string): void =>
    log.warn({ schedule: entry }, `a schedule failed: ${words(entry)}: ${why}`);
  return {
    follow: ({ schedules: entries, timezone }) =>
      all.set(entries, entries.length > 0 && timezone === 'auto' ? ownZone() : timezone),
    stop: all.stop,
  };
}

function words({ cron, do: what, model }: Entry): string {
  return `${cron} ${what} ${model ?? 'all'}`;
}

/** That of TZ, else of the machine. Asked only where it is needed: the data that tells it takes 11 MB of memory. */
function ownZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

async function carryOut(entry: Entry, { gate, settings, drills }: ScheduledParts): Promise<void> {
  const models = entry.model === undefined ? gate.view().models.map(({ name }) => name) : [entry.model];
  switch (entry.do) {
    case 'load':
    case 'unload': {
      const verb = entry.do;
      const results = await Promise.all(models.map((model) => gate.command({ do: verb, model }).done));
      const errors = results.flatMap((result) => (result.ok ? [] : [result.message]));
      if (errors.length > 0) throw new AppError('schedule_failed', errors.join('; '));
      return;
    }
    case 'mode':
      await settings.setAll(Object.fromEntries(models.map((model) => [`models.${model}.mode`, entry.mode])));
      return;
    case 'drill': {
      const errors = await drills.runEach(entry.scenario ?? '', models);
      if (errors.length > 0) throw new AppError('schedule_failed', errors.join('; '));
    }
  }
}
