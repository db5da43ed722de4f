/**
 * From a plan to an instance that answered, or to the evidence of its failure.
 */
import { randomBytes } from 'node:crypto';
import type { InstancePlan } from '../../core/effects.ts';
import type { Measured } from '../../core/inputs.ts';
import type { ExitEvidence } from '../../core/types.ts';
import { AppError } from '../../errors.ts';
import type { InstanceAddress, StartResult } from '../../ports.ts';
import { instanceOptions } from './container-spec.ts';
import type { EngineContext } from './context.ts';
import { dockerError, isUnreachable, refusedWith } from './docker-error.ts';
import { imageMissing } from './engine-problem.ts';
import { examined } from './evidence.ts';
import type { GpuAccess } from './gpu-access.ts';
import { gpuAccess, withoutMissing } from './gpu-access.ts';
import { proveReady } from './llama-http.ts';
import { logLines } from './log-text.ts';
import { placementReader } from './measured.ts';
import { instanceName } from './names.ts';
import { alarm, pause } from './pause.ts';
import type { Entry } from './registry.ts';
import { notStarted, StartEnded } from './registry.ts';

const NAME_TRIES = 3;
/** The log can come after the answer, on a busy host long after; an adopted one's may have lost its start. */
const LAST_LINES = 1_000;

/** A failed start leaves its container, if one was made, to `remove`. */
export async function startInstance(context: EngineContext, plan: InstancePlan): Promise<StartResult> {
  const { registry } = context;
  const known = registry.get(plan.instance);
  if (known !== undefined) return { ok: false, evidence: notStarted('this instance was started before') };
  const entry = registry.add(plan.instance, plan.profile.task);
  try {
    const made = make(context, entry, plan);
    entry.created = made.catch(() => undefined);
    await made;
  } catch (thrown) {
    entry.exitTold = true;
    if (thrown instanceof StartEnded) return { ok: false, evidence: thrown.evidence };
    entry.error = startError(context, thrown, plan);
    const evidence = await examined(context, entry);
    const away = isUnreachable(dockerError(thrown));
    return failed(context, away ? { ...evidence, engineAway: true } : evidence);
  }
  return serve(context, entry);
}

/** Waits for the proof; for a new container and for an adopted one. */
export async function serve(context: EngineContext, entry: Entry): Promise<StartResult> {
  const { address, container } = entry;
  if (address === null || container === null) return { ok: false, evidence: notStarted('it has no address') };
  try {
    const measured = await proved(context, entry, address, container);
    entry.abort.signal.throwIfAborted();
    entry.phase = 'ready';
    return { ok: true, container, measured };
  } catch (thrown) {
    if (thrown instanceof StartEnded) return { ok: false, evidence: thrown.evidence };
    const evidence = await examined(context, entry);
    const error = evidence.error ?? (evidence.running ? AppError.from(thrown).message : null);
    entry.exitTold = true;
    return failed(context, { ...evidence, error });
  }
}

function failed(context: EngineContext, evidence: ExitEvidence): StartResult {
  if (evidence.engineAway) context.doubt();
  return { ok: false, evidence };
}

async function make(context: EngineContext, entry: Entry, plan: InstancePlan): Promise<void> {
  const { facts, modelsMount, holders, ports, clock } = context;
  const { ioWeight } = facts();
  const models = modelsMount();
  const holder = await holders.ensure();
  const port = ports.take(clock.now().mono);
  const key = randomBytes(24).toString('base64url');
  entry.address = { host: holder.host, port, key };
  entry.holder = holder.container;
  let gpu: GpuAccess = plan.profile.gpu === null ? {} : gpuAccess(plan.profile.gpu.kind);
  for (;;) {
    entry.abort.signal.throwIfAborted();
    const place = { holder: holder.container, port, key, models, gpu, ioWeight };
    entry.container = await created(context, entry, plan, place);
    try {
      await context.change.start(entry.container);
      return;
    } catch (thrown) {
      const kind = plan.profile.gpu?.kind;
      const milder = kind && withoutMissing(gpu, kind, dockerError(thrown).message);
      if (milder === undefined) throw thrown;
      gpu = milder;
      const failed = entry.container;
      entry.container = null;
      await context.change.remove(failed);
    }
  }
}

async function created(
  context: EngineContext,
  entry: Entry,
  plan: InstancePlan,
  place: Omit<Parameters<typeof instanceOptions>[2], 'name'>,
): Promise<string> {
  const { owner, change } = context;
  for (let tries = 1; ; tries++) {
    const name = instanceName(owner.home, plan.model, plan.profile.placement, randomBytes(3).toString('hex'));
    entry.name = name;
    try {
      return await change.create(instanceOptions(owner, plan, { ...place, name }));
    } catch (thrown) {
      if (refusedWith(thrown) !== 409 || tries === NAME_TRIES) throw thrown;
    }
  }
}

/** Races the proof against death, removal, and a silent log. */
async function proved(
  context: EngineContext,
  entry: Entry,
  address: InstanceAddress,
  container: string,
): Promise<Measured> {
  const { api, clock, timing } = context;
  const stalled = new AbortController();
  const stall = alarm(clock, () => {
    const text = `it was not ready, and its log was silent for ${timing.stall / 1000} s`;
    stalled.abort(new AppError('stalled', text));
  });
  stall.arm(timing.stall);
  const reader = placementReader();
  const log = await api.follow(container);
  const feed = logLines((line) => {
    reader.line(line);
    stall.arm(timing.stall);
  });
  log.on('data', feed);
  log.on('error', () => undefined);
  try {
    const signal = AbortSignal.any([entry.abort.signal, stalled.signal]);
    await proveReady(address, entry.task, clock, timing.healthPoll, signal);
    const until = clock.now().mono + LAST_LINES;
    while (!reader.isComplete() && clock.now().mono < until) {
      await pause(clock, timing.healthPoll, signal);
    }
    return reader.measured();
  } finally {
    stall.cancel();
    log.destroy();
  }
}

/** Docker's own words, and what to do where they do not say it. */
function startError({ images }: EngineContext, thrown: unknown, plan: InstancePlan): string {
  const error = dockerError(thrown);
  const missing = imageMissing(error, plan.profile.engine);
  if (missing === null) return error.message;
  images.tell(missing);
  return `${missing.text} ${missing.fix}`;
}
