/** Runs the core's effects on the parts, and brings their results back as inputs. */
import type { Effect } from './core/effects.ts';
import type { AttemptEnded, Input } from './core/inputs.ts';
import type { InstanceId } from './core/request.ts';
import type { Problem, Profile } from './core/types.ts';
import { AppError } from './errors.ts';
import type { Executors } from './loop.ts';
import { memoryBack } from './memory-back.ts';
import type { ReadAhead } from './ports/read-ahead.ts';
import type { Clock, Containers, DeviceMemory, Estimator, Host, StartResult } from './ports.ts';
import type { Waiters } from './waiters.ts';

/** The part of a logger that executors use. */
export interface ExecutorLog {
  error(fields: object, message: string): void;
}

export interface ExecutorParts {
  readonly waiters: Waiters;
  readonly containers: Pick<Containers, 'start' | 'adopt' | 'examine' | 'remove' | 'removeContainer'>;
  readonly host: Host;
  readonly devices: DeviceMemory;
  readonly readAhead: ReadAhead;
  readonly estimator: Estimator;
  /** Ends our connections to an instance; its requests see a reset. */
  readonly closeConnections: (instance: InstanceId) => void;
  /** Hands a policy over where there is a GPU that was not. */
  readonly lookForGpus: () => void;
  readonly submit: (input: Input) => void;
  readonly stopped: () => void;
  readonly clock: Clock;
  readonly log: ExecutorLog;
}

/** Pause before the host's memory is read again after a failure, ms. */
const SAMPLE_RETRY_MS = 1_000;

export function makeExecutors(parts: ExecutorParts): Executors {
  const { containers, submit } = parts;

  return {
    ...parts.waiters.executors,
    identify_body: ({ request }) =>
      submit({ type: 'body_identified', request, body: parts.waiters.bodyHash(request) }),
    count_tokens: ({ request, instance }) =>
      parts.waiters.countTokens(request, instance, (tokens) =>
        submit({ type: 'tokens_counted', request, tokens }),
      ),
    start_instance: ({ plan }) =>
      run(
        parts,
        'start',
        startInstance(parts, plan.instance, () => containers.start(plan)),
      ),
    adopt_instance: ({ instance, container, profile, model }) =>
      run(
        parts,
        'adopt',
        startInstance(parts, instance, () => containers.adopt(instance, container, profile, model)),
      ),
    remove_instance: (effect) => run(parts, 'remove', removeInstance(parts, effect)),
    close_connections: ({ instance }) => parts.closeConnections(instance),
    examine_instance: ({ instance }) =>
      run(
        parts,
        'examine',
        containers
          .examine(instance)
          .then((evidence) => submit({ type: 'instance_exited', instance, evidence })),
      ),
    remove_container: ({ engine, container }) =>
      run(parts, 'remove leftover', containers.removeContainer(engine, container)),
    estimate_need: ({ model, profile }) => run(parts, 'estimate', estimateNeed(parts, model, profile)),
    read_ahead: ({ model, profile }) => run(parts, 'read ahead', readFiles(parts, model, profile)),
    sample_host: () => run(parts, 'sample', sampleHost(parts)),
    sample_for_verdict: ({ attempt }) => run(parts, 'sample', sampleForVerdict(parts, attempt)),
    look_for_gpus: parts.lookForGpus,
    stopped: parts.stopped,
  };
}

/** The core waits for the end of what it began: where a part breaks, it is told so. */
async function startInstance(
  parts: ExecutorParts,
  instance: InstanceId,
  start: () => Promise<StartResult>,
): Promise<void> {
  const result = await unlessBroken(parts, 'start', start, notStarted);
  if (result.ok) {
    const { container, measured } = result;
    parts.submit({ type: 'instance_ready', instance, container, measured });
  } else parts.submit({ type: 'instance_start_failed', instance, evidence: result.evidence });
}

function notStarted({ message }: AppError): StartResult {
  const unknown = { running: false, exitCode: null, oomKilled: false, killedOutside: false, log: [] };
  return { ok: false, evidence: { ...unknown, error: message } };
}

/** The part's result, or `otherwise` where it throws: a fault of an adapter, told and never swallowed. */
async function unlessBroken<T>(
  { log }: ExecutorParts,
  what: string,
  work: () => Promise<T>,
  otherwise: (error: AppError) => T,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = AppError.from(thrown);
    log.error({ code: error.code, err: error }, `could not ${what}: ${error.message}`);
    return otherwise(error);
  }
}

/** Effects report by inputs; what is thrown here is a fault of an adapter, told and never swallowed. */
function run(parts: ExecutorParts, what: string, work: Promise<void>): void {
  work.catch((thrown: unknown) => {
    const error = AppError.from(thrown);
    parts.log.error({ code: error.code, err: error }, `could not ${what}: ${error.message}`);
  });
}

/** Connections first: a busy llama-server ignores SIGTERM while they are open. */
async function removeInstance(
  parts: ExecutorParts,
  { instance, how, examine, device }: Extract<Effect, { type: 'remove_instance' }>,
): Promise<void> {
  const { containers, devices, clock, submit } = parts;
  const orNothing = <T>(what: string, work: () => Promise<T>) =>
    unlessBroken<T | null>(parts, what, work, () => null);
  parts.closeConnections(instance);
  const before = device === 0 ? {} : ((await orNothing('read the cards', devices.cards)) ?? {});
  const evidence = examine ? await orNothing('examine', () => containers.examine(instance)) : null;
  if (evidence !== null) submit({ type: 'instance_exited', instance, evidence });
  const ran = evidence?.running ?? true;
  try {
    await containers.remove(instance, how);
  } catch (thrown) {
    submit({ type: 'instance_stuck', instance, detail: AppError.from(thrown).message });
    return;
  }
  const taken = { bytes: device, before, ran };
  const back = await orNothing('read the cards', () => memoryBack(devices, clock, taken));
  submit({ type: 'instance_removed', instance, memoryBack: back ?? true });
}

async function estimateNeed(
  { estimator, submit }: ExecutorParts,
  model: string,
  profile: Profile,
): Promise<void> {
  try {
    submit({ type: 'need_estimated', hash: profile.hash, need: await estimator.need(profile) });
  } catch (thrown) {
    const error = AppError.from(thrown);
    const problem = problemOf(error) ?? {
      code: 'model_unreadable',
      text: `The file ${profile.file} of ${model} cannot be read: ${error.message}.`,
      fix: 'Look at the file and the models folder; it is tried again by itself.',
    };
    submit({ type: 'need_unknown', hash: profile.hash, problem: { ...problem, model } });
  }
}

function problemOf(error: AppError): Problem | null {
  const problem = error.details['problem'];
  return typeof problem === 'object' && problem !== null ? (problem as Problem) : null;
}

/** A file that cannot be read is told by the scan of the folder; here it is only not in the cache. */
async function readFiles(
  { readAhead, clock, submit, log }: ExecutorParts,
  model: string,
  profile: Profile,
): Promise<void> {
  const begun = clock.now().mono;
  const read = await readAhead.read(profile).then(
    (bytes) => ({ bytes, seconds: Math.round(clock.now().mono - begun) / 1000 }),
    (thrown: unknown) => {
      log.error({ model, err: AppError.from(thrown) }, 'the standby could not be read ahead');
      return null;
    },
  );
  submit({ type: 'read_ahead_done', model, hash: profile.hash, read });
}

/** A client waits: where the host cannot be read, the verdict rests on what is known. */
async function sampleForVerdict(parts: ExecutorParts, attempt: AttemptEnded): Promise<void> {
  const host = await unlessBroken(parts, 'sample', parts.host.sample, () => null);
  if (host !== null) parts.submit({ type: 'host_sampled', host });
  parts.submit({ ...attempt, sampled: true });
}

/** The core waits for a reading, so a failed one is taken again. */
async function sampleHost(parts: ExecutorParts): Promise<void> {
  try {
    parts.submit({ type: 'host_sampled', host: await parts.host.sample() });
  } catch (thrown) {
    const error = AppError.from(thrown);
    parts.log.error({ err: error }, `the host's memory cannot be read: ${error.message}`);
    const { clock } = parts;
    clock.at(clock.now().mono + SAMPLE_RETRY_MS, () => run(parts, 'sample', sampleHost(parts)));
  }
}
