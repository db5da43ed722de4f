/**
 * What is done at each connection to an engine, and with each of its events.
 */

import { readFile } from 'node:fs/promises';
import type { ProblemCode } from '../../core/codes.ts';
import type { Problem } from '../../core/types.ts';
import type { EngineFacts } from './api.ts';
import type { Connection } from './connection.ts';
import { connection } from './connection.ts';
import type { EngineContext } from './context.ts';
import { deaths as makeDeaths } from './deaths.ts';
import { dockerError, isUnreachable } from './docker-error.ts';
import { engineProblem, holderFailed, imageMissing, modelsNotShared } from './engine-problem.ts';
import { eventCursor, eventTime, readEvents } from './events.ts';
import { leftoversOf } from './leftovers.ts';
import { LABELS } from './names.ts';
import { observe } from './observe.ts';
import type { DockerOptions } from './options.ts';
import { alarm } from './pause.ts';
import type { DockerEvent } from './schemas.ts';
import { socketGroup } from './socket-group.ts';
import type { Self } from './whoami.ts';
import { whoAmI } from './whoami.ts';

const MOUNTINFO = '/proc/self/mountinfo';
/** Deadly to the holder; a paused one answers nobody. */
const HOLDER_ENDS = new Set(['die', 'destroy', 'pause']);

export interface FollowingParts {
  readonly socket: string;
  readonly connected: (facts: EngineFacts, self: Self | null) => void;
  readonly lost: () => void;
}

export interface Following extends Connection {
  /** A call had no answer. */
  doubt(): void;
  /** Images that were missing are so no more. */
  imagesChanged(): void;
}

export function following(
  context: EngineContext,
  options: DockerOptions,
  { socket, connected, lost }: FollowingParts,
): Following {
  const { api, clock, holders, log, owner, registry, report, timing } = context;
  const deaths = makeDeaths(context);
  const cursor = eventCursor();
  const nextObservation = alarm(clock, () => void observed().catch(() => endStream()));
  const told = new Set<ProblemCode>();
  let reached = false;
  /** The event stream is open. */
  let follows = false;
  /**
   * For an engine that cannot be looked at: its stream can outlive one that ends, and is no sign of life. It is connected
   * to anew, or told lost.
   */
  let endStream: () => void = () => undefined;

  function tellProblem(problem: Problem): void {
    told.add(problem.code);
    report({ type: 'problem_seen', problem });
  }

  function problemGone(...codes: readonly ProblemCode[]): void {
    for (const code of codes) if (told.delete(code)) report({ type: 'problem_gone', code });
  }

  function doubt(): void {
    if (follows) nextObservation.arm(timing.doubt);
  }

  async function observed(): Promise<void> {
    if (follows) nextObservation.arm(timing.observe);
    await observe(context, deaths);
    if (told.has('leftovers_found')) await tellLeftovers();
    if (told.has('holder_failed')) await holderMade();
    await context.images.check();
    context.meter.check();
  }

  /** No instance can start without it, so its failure is told now; each start tries again. */
  async function holderMade(): Promise<void> {
    try {
      await holders.ensure();
      problemGone('holder_failed');
    } catch (thrown) {
      const error = dockerError(thrown);
      if (isUnreachable(error) || error.code === 'closed') return;
      log.warn({ error: error.message }, 'the holder could not be made');
      const missing = imageMissing(error, owner.engine);
      if (missing === null) tellProblem(holderFailed(error.message));
      else context.images.tell(missing);
    }
  }

  /** Looked for at each connection, and then until they are gone. */
  async function tellLeftovers(): Promise<void> {
    const found = await leftoversOf(api, owner);
    if (found === null) problemGone('leftovers_found');
    else tellProblem(found);
  }

  function checkModels(): void {
    try {
      context.modelsMount();
      problemGone('models_not_shared');
    } catch (thrown) {
      tellProblem(modelsNotShared(dockerError(thrown).message));
    }
  }

  async function connect(signal: AbortSignal, back: () => void): Promise<{ ended: Promise<void> }> {
    const facts = await api.connect();
    connected(facts, await whoAmI(api, await ownMountinfo(options.mountinfo ?? MOUNTINFO)));
    const stream = await api.events(`${LABELS.owner}=${owner.owner}`, cursor.since());
    const stop = () => stream.destroy();
    endStream = stop;
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    follows = true;
    const ended = readEvents(stream, handle).finally(() => {
      follows = false;
      signal.removeEventListener('abort', stop);
      nextObservation.cancel();
    });
    try {
      await context.presence.claim();
      checkModels();
      await holderMade();
      await context.presence.confirm();
      await tellLeftovers();
      // Not before: one that refuses what it is needed for would seem to be well.
      if (!reached) report({ type: 'engine_reachable', engine: owner.engine });
      reached = true;
      back();
      context.meter.connected();
      await observed();
    } catch (thrown) {
      stop();
      throw thrown;
    }
    return { ended };
  }

  function handle(event: DockerEvent): void {
    if (event.Type !== 'container' || !cursor.take(event)) return;
    const { ID, Attributes } = event.Actor;
    if (Attributes[LABELS.role] === 'holder') {
      if (HOLDER_ENDS.has(event.Action)) holderEnded(ID);
      return;
    }
    const entry = registry.find(ID, []);
    if (entry === undefined) return;
    const exitCode = Attributes['exitCode'];
    deaths.seen(entry, {
      action: event.Action,
      at: eventTime(event),
      exitCode: exitCode === undefined ? null : Number(exitCode),
      signal: Attributes['signal'] ?? null,
    });
  }

  function holderEnded(container: string): void {
    const wasCurrent = holders.lost(container);
    deaths.holderDied(container);
    if (wasCurrent) void holderMade();
  }

  const followed = connection({
    clock,
    retryMax: timing.retryMax,
    connect,
    problem: (error) => engineProblem(owner.engine, socket, error, socketGroup(socket)),
    lost: (problem) => {
      reached = false;
      lost();
      report({ type: 'engine_unreachable', engine: owner.engine, problem });
    },
  });
  return {
    ...followed,
    doubt,
    imagesChanged() {
      void holderMade();
      context.meter.check();
    },
  };
}

/** Empty where there is no such file: then this process is in no container of a Linux engine. */
async function ownMountinfo(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '';
  }
}
