/** Makes the failure of a scenario: on our own instances, under the drill's own requests. */
import type { InstanceId } from '../../core/request.ts';
import { instancesOf } from '../../core/state.ts';
import { AppError } from '../../errors.ts';
import { within } from '../../within.ts';
import { drillBody } from './bodies.ts';
import type { Sending } from './client.ts';
import type { Drilled } from './drilled.ts';
import type { RoundSeen } from './observed.ts';
import type { DrillParts, Run } from './parts.ts';
import { until } from './until.ts';
import { serving } from './watch.ts';

/** Pieces of content after which a stream is in its middle. */
const FEW_PIECES = 3;
const SHORT_ANSWER = 16;

export type Broken = Pick<RoundSeen, 'notMade' | 'other'>;

/** What is done before the request is sent. Returns why it could not be done; null: done. */
export async function prepareFault(parts: DrillParts, run: Run, drilled: Drilled): Promise<string | null> {
  const { fault } = run.scenario;
  if (fault.kind === 'starve') {
    const instance = serving(parts, drilled.model, drilled.target);
    return instance === null ? 'there was no running instance' : harmed(parts, instance, 'starve');
  }
  if (fault.kind !== 'start') return null;
  const unloaded = await within(
    parts,
    parts.command({ do: 'unload', model: drilled.model }),
    parts.limits.answer,
  );
  if (unloaded === null) return `the model was not unloaded ${inTime(parts)}`;
  if (!unloaded.ok) return `the model could not be unloaded: ${unloaded.message}`;
  parts.arm({ model: drilled.model, placement: drilled.target, fault: fault.start });
  return null;
}

/** What is done while the request is under way; resolves when it is done, or can no longer be. */
export async function breakIt(
  parts: DrillParts,
  run: Run,
  drilled: Drilled,
  sendings: readonly Sending[],
  stream: boolean,
): Promise<Broken> {
  const { fault } = run.scenario;
  const made: Broken = { notMade: null, other: null };
  switch (fault.kind) {
    case 'none':
    case 'starve':
    case 'start':
      await failureOrEnd(parts, drilled, sendings);
      return made;
    case 'harm': {
      const instance = await underWay(parts, drilled, sendings, stream);
      if (instance === null) return { ...made, notMade: 'no request was seen under way' };
      return { ...made, notMade: await harmed(parts, instance, fault.harm) };
    }
    case 'leave':
      await underWay(parts, drilled, sendings, stream);
      for (const sending of sendings) sending.leave();
      return made;
    case 'load_other':
      await underWay(parts, drilled, sendings, stream);
      return { ...made, other: await askOther(parts, run, drilled, stream) };
  }
}

function inTime({ limits }: DrillParts): string {
  return `within ${limits.answer / 1000} s`;
}

/** The engine's words where it refuses; null: it was done. */
async function harmed(
  parts: DrillParts,
  instance: InstanceId,
  how: Parameters<DrillParts['containers']['harm']>[1],
): Promise<string | null> {
  try {
    const harmed = parts.containers.harm(instance, how).then(() => true);
    const made = await within(parts, harmed, parts.limits.answer);
    return made === null ? `the engine did not answer ${inTime(parts)}` : null;
  } catch (thrown) {
    return AppError.from(thrown).message;
  }
}

/**
 * The instance that has the drill's requests: as many as it has slots. Of a stream, the client has its first
 * words. Null: the answer ended before.
 */
async function underWay(
  parts: DrillParts,
  { model, target, slots }: Drilled,
  sendings: readonly Sending[],
  stream: boolean,
): Promise<InstanceId | null> {
  const busy = () =>
    instancesOf(parts.state, model).find(
      (one) => one.placement === target && one.leases.size >= Math.min(slots, sendings.length),
    )?.id ?? null;
  const ended = Promise.race(sendings.map(({ done }) => done)).then(() => false);
  if (!(await Promise.race([until(parts, () => busy() !== null, parts.limits.answer), ended]))) return null;
  if (stream) await sendings[0]?.content(FEW_PIECES);
  return busy();
}

/** Until the failure is seen, or all is answered without one. */
async function failureOrEnd(
  parts: DrillParts,
  { model, target }: Drilled,
  sendings: readonly Sending[],
): Promise<void> {
  const failed = () => parts.state.models.get(model)?.outages.has(target) === true;
  const ended = Promise.all(sendings.map(({ done }) => done));
  await Promise.race([until(parts, failed, parts.limits.answer), ended]);
}

async function askOther(
  parts: DrillParts,
  run: Run,
  { other }: Drilled,
  stream: boolean,
): Promise<RoundSeen['other']> {
  if (other === null) return null;
  const body = drillBody('long_answer', { model: other, stream, tokens: SHORT_ANSWER, context: 0 });
  const id = `drill-${run.id}-${stream ? 'stream' : 'whole'}-other`;
  const sending = parts.send({ id, body, stream, mark: run.mark, limitMs: parts.limits.answer });
  const answer = await within(parts, sending.done, parts.limits.answer);
  return answer && { model: other, answer };
}
