/**
 * Whether another controller of this home lives. A controller keeps a session in its holder, a program that reads
 * from our connection: it ends with this process, however that ends, so a crash leaves none behind.
 */
import { hostname } from 'node:os';
import type { Duplex } from 'node:stream';
import { AppError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';
import { type DockerApi, dockerApi } from './api.ts';
import { dockerError } from './docker-error.ts';
import type { Guarded } from './guarded.ts';
import { LABELS } from './names.ts';
import { type DockerOptions, type Log, TIMING } from './options.ts';
import { pause } from './pause.ts';

const MARK = 'llamastead-presence';
/** The end of a process is seen within 0.1 s; a busy host takes longer. */
const PATIENCE_MS = 3_000;
const LOOK_MS = 100;

/** A controller that lives. */
export interface Living {
  /** Id of its session. */
  readonly session: string;
  /** Its container or machine. */
  readonly where: string;
  /** ISO 8601. */
  readonly since: string;
}

/** `cat` ends at the end of its input, and so when the connection breaks. */
function command(where: string, since: string): string[] {
  return ['sh', '-c', 'exec cat >/dev/null', MARK, where, since];
}

/** Controllers whose home has this name, whoever owns it. Throws Docker's error. */
export async function livingControllers(api: DockerApi, home: string): Promise<Living[]> {
  const labels = [`${LABELS.home}=${home}`, `${LABELS.role}=holder`];
  const living: Living[] = [];
  for (const { Id } of await api.list({ all: false, labels })) {
    for (const session of (await api.inspect(Id))?.ExecIDs ?? []) {
      const found = await api.inspectSession(session);
      const [, , mark, where, since] = found?.ProcessConfig.arguments ?? [];
      if (found?.Running !== true || mark !== MARK) continue;
      living.push({ session, where: where ?? '', since: since ?? '' });
    }
  }
  return living;
}

/**
 * Rejects with AppError `already_running` where another controller of this home lives on one of the engines. One
 * that has just died is waited for, `patience` ms long. An engine that does not answer refuses nobody.
 */
export async function refuseSecond(
  { home, engines, clock }: Pick<DockerOptions, 'home' | 'engines' | 'clock'>,
  patience = PATIENCE_MS,
): Promise<void> {
  for (const [engine, { socket }] of Object.entries(engines)) {
    const api = dockerApi(socket, clock, TIMING.call);
    const deadline = clock.now().mono + patience;
    for (;;) {
      const [other] = await living(api, home);
      if (other === undefined) break;
      if (clock.now().mono >= deadline) throw alreadyRunning(home, engine, other);
      await pause(clock, LOOK_MS);
    }
  }
}

async function living(api: DockerApi, home: string): Promise<Living[]> {
  try {
    await api.connect();
    return await livingControllers(api, home);
  } catch {
    return [];
  }
}

function alreadyRunning(home: string, engine: string, { where, since }: Living): AppError {
  const text =
    `another Llamastead named "${home}" runs on the Docker engine "${engine}" (${where}, since ${since}); ` +
    'two would fight over the same containers. Stop that one, or give this one a name of its own: ' +
    'mqtt.instance in llamastead.yaml';
  return new AppError('already_running', text, { details: { home, engine, where, since } });
}

export interface Presence {
  /** Keeps the session in this holder; quiet where it is kept already, or the engine allows none. */
  keep(holder: string): Promise<void>;
  /** Rejects with AppError `already_running` where another controller lives. */
  claim(): Promise<void>;
  /** As `claim`, after `keep`: of two that began in the same moment one goes on. */
  confirm(): Promise<void>;
  /** Ends the session; none is kept after it. */
  close(): void;
}

export interface PresenceParts {
  readonly home: string;
  readonly engine: string;
  readonly api: DockerApi;
  readonly change: Guarded;
  readonly clock: Clock;
  readonly log: Log;
  /** Id of the controller's own container; null: it runs in none of this engine. */
  readonly self: () => string | null;
}

export function presence({ home, engine, api, change, clock, log, self }: PresenceParts): Presence {
  let kept: { readonly holder: string; readonly session: string; readonly stream: Duplex } | null = null;
  /** An ended one may still be listed for a moment. */
  const own = new Set<string>();

  /** Counts what ends a session, so that one that was under way then does not stay. */
  let turns = 0;
  let closed = false;

  function end(): void {
    turns += 1;
    kept?.stream.destroy();
    kept = null;
  }

  async function refuse(rival: (other: Living) => boolean): Promise<void> {
    const others = await livingControllers(api, home);
    const other = others.find((each) => !own.has(each.session) && rival(each));
    if (other === undefined) return;
    end();
    throw alreadyRunning(home, engine, other);
  }

  return {
    close() {
      closed = true;
      end();
    },
    async keep(holder) {
      if (closed || (kept?.holder === holder && !kept.stream.destroyed)) return;
      end();
      const where = self()?.slice(0, 12) ?? hostname();
      const since = new Date(clock.now().wall).toISOString();
      try {
        const turn = turns;
        const made = await change.attend(holder, command(where, since));
        made.stream.on('error', () => undefined);
        made.stream.on('close', () => made.stream.destroy());
        made.stream.resume();
        own.add(made.session);
        if (turn === turns) kept = { holder, ...made };
        else made.stream.destroy();
      } catch (thrown) {
        const error = dockerError(thrown).message;
        log.info({ holder, error }, 'a second controller of this home would not be noticed');
      }
    },
    claim: () => refuse(() => true),
    // Each sees the other: the smaller id goes on.
    confirm: () => refuse(({ session }) => kept !== null && session < kept.session),
  };
}
