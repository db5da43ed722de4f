/**
 * Connections to instances. The gate grants no more requests than an instance has slots, which bounds them;
 * llama-server starves when many idle connections hold its threads, so the last used one goes first.
 */
import type { InstanceId } from '../../../core/request.ts';
import type { Clock } from '../../../ports.ts';
import type { Alarms } from './alarms.ts';
import { askHealth } from './health.ts';
import { type Lane, openLane } from './lane.ts';
import { type Liveness, liveness } from './liveness.ts';
import type { ForwardLog, ForwardSettings, Target } from './options.ts';
import type { PromptLoad } from './prompt-load.ts';

export interface Connections {
  /** A free connection unless `fresh`, else a new one; undefined: no such instance. */
  take(instance: InstanceId, fresh: boolean): Taken | undefined;
  /** Destroys all connections of an instance; a request on one is broken. */
  close(instance: InstanceId): void;
  closeAll(): void;
}

export interface Taken {
  readonly lane: Lane;
  /** Canonical name of the instance's model. */
  readonly model: string;
  readonly profile: string;
  /** What the instance has to read; the same object for all its attempts. */
  readonly prompts: PromptLoad;
  /** Whether the instance is alive; the same object for all its attempts. */
  readonly liveness: Liveness;
}

interface Free {
  readonly lane: Lane;
  /** Monotonic ms. */
  readonly since: number;
  readonly usableAt: number;
}

interface Entry {
  readonly target: Target;
  readonly prompts: PromptLoad;
  readonly liveness: Liveness;
  /** The last used last. */
  readonly free: Free[];
  readonly all: Lane[];
}

/** llama-server closes within 0.4 ms after a stream: what it has not closed after this it means to keep. */
const REST_MS = 5;
/** It closes after 5 s without a request; a request must not meet that. */
const IDLE_MS = 4_000;

export interface ConnectionsOptions {
  readonly targetOf: (instance: InstanceId) => Target | undefined;
  /** Read whenever one of them matters. */
  readonly settings: () => Pick<ForwardSettings, 'connectMs' | 'silenceMs'>;
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly log: ForwardLog;
}

export function connections(options: ConnectionsOptions): Connections {
  const { targetOf, settings, clock } = options;
  const entries = new Map<InstanceId, Entry>();

  function entryOf(instance: InstanceId): Entry | undefined {
    const known = entries.get(instance);
    if (known !== undefined) return known;
    const target = targetOf(instance);
    if (target === undefined) return undefined;
    const alive = livenessOf(instance, target, options);
    const entry = { target, prompts: { tokens: 0 }, liveness: alive, free: [], all: [] };
    entries.set(instance, entry);
    return entry;
  }

  function open({ target, free, all }: Entry): Lane {
    const { host, port, key } = target;
    const lane = openLane({
      host,
      port,
      key,
      connectMs: settings().connectMs,
      onFree(lane, reuse) {
        const since = clock.now().mono;
        free.push({ lane, since, usableAt: reuse === 'now' ? since : since + REST_MS });
      },
      onClosed(lane) {
        remove(all, all.indexOf(lane));
        remove(
          free,
          free.findIndex((each) => each.lane === lane),
        );
      },
    });
    all.push(lane);
    return lane;
  }

  /** The one that was used last, of those that may be used. */
  function reuse({ free }: Entry): Lane | undefined {
    const now = clock.now().mono;
    for (let i = free.length - 1; i >= 0; i -= 1) {
      const each = free[i];
      if (each === undefined || each.usableAt > now) continue;
      free.splice(i, 1);
      if (now - each.since < IDLE_MS) return each.lane;
      each.lane.destroy();
    }
    return undefined;
  }

  function close(instance: InstanceId): void {
    const entry = entries.get(instance);
    if (entry === undefined) return;
    entries.delete(instance);
    for (const lane of [...entry.all]) lane.destroy();
  }

  return {
    take(instance, fresh) {
      const entry = entryOf(instance);
      if (entry === undefined) return undefined;
      const lane = (fresh ? undefined : reuse(entry)) ?? open(entry);
      const { model, profile } = entry.target;
      return { lane, model, profile, prompts: entry.prompts, liveness: entry.liveness };
    },
    close,
    closeAll() {
      for (const instance of [...entries.keys()]) close(instance);
    },
  };
}

function livenessOf(
  instance: InstanceId,
  target: Target,
  { clock, alarms, settings, log }: ConnectionsOptions,
): Liveness {
  const whose = { instance, model: target.model };
  return liveness({
    clock,
    alarms,
    silenceMs: () => settings().silenceMs,
    ask(answered) {
      log.debug(whose, 'a silent instance is asked for a sign of life');
      return askHealth(target, () => {
        log.debug(whose, 'a silent instance gave a sign of life');
        answered();
      });
    },
  });
}

function remove(list: unknown[], index: number): void {
  if (index >= 0) list.splice(index, 1);
}
