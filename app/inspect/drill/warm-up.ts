/**
 * Before each round: requests of others that run are let end, since the failure would meet them; then a short
 * request, so that the model serves where it shall be broken, and its speed is known.
 */
import type { DrillRound } from '../../core/drill-report.ts';
import { instancesOf } from '../../core/state.ts';
import { drillBody } from './bodies.ts';
import type { Drilled } from './drilled.ts';
import { judgeRound } from './judge.ts';
import type { DrillParts, Run } from './parts.ts';
import { nothingSeen } from './round.ts';
import { until } from './until.ts';
import { serving } from './watch.ts';

const SHORT = 16;

/** A round where it does not serve there: it shows nothing, and says why. */
export async function warmUp(
  parts: DrillParts,
  run: Run,
  drilled: Drilled,
  stream: boolean,
): Promise<DrillRound | { readonly speed: number | null }> {
  const { model, target } = drilled;
  if (!(await until(parts, () => !hasOthers(parts, model), parts.limits.free))) {
    const why = `others' requests to ${model} did not end within ${parts.limits.free / 1000} s, so it was in use`;
    return judgeRound(run.scenario, nothingSeen(drilled, stream, why));
  }
  if (run.scenario.fault.kind === 'start') return { speed: null };
  const answer = await parts.send({
    id: `drill-${run.id}-warm-up-${stream ? 'stream' : 'whole'}`,
    body: drillBody('long_answer', { model, stream: false, tokens: SHORT, context: 0 }),
    stream: false,
    mark: run.mark,
    limitMs: parts.limits.answer,
  }).done;
  if (answer.end === 'whole' && serving(parts, model, target) !== null) return { speed: answer.speed };
  const why =
    answer.end === 'whole'
      ? `${target} does not serve: a first request was answered by ${answer.placement}`
      : `a first request was not answered: ${answer.error?.message ?? answer.end}`;
  return judgeRound(run.scenario, nothingSeen(drilled, stream, why));
}

function hasOthers({ state }: DrillParts, model: string): boolean {
  return instancesOf(state, model).some(({ leases }) =>
    [...leases].some((id) => state.requests.get(id)?.drill !== true),
  );
}
