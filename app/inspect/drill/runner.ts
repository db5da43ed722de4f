/** Runs drills, one at a time: asks whether it may, waits for a free moment, runs both rounds, reports. */
import type { DrillVerdict, RunScenario } from '../../core/drill.ts';
import type { DrillReport, DrillRound } from '../../core/drill-report.ts';
import { instancesOf, isAwaited } from '../../core/state.ts';
import type { Model } from '../../core/types.ts';
import { AppError } from '../../errors.ts';
import type { Drills, OtherContainer } from '../../ports/drills.ts';
import { within } from '../../within.ts';
import type { DrillArchive } from './archive.ts';
import { compareOthers } from './bystanders.ts';
import { type Drilled, drilledModel } from './drilled.ts';
import { inTurn } from './in-turn.ts';
import { judgeRound } from './judge.ts';
import { memoryLow } from './memory-low.ts';
import type { DrillParts, Ending, Run } from './parts.ts';
import { mayBegin, notApplicable, readModel, readScenario, refused } from './preflight.ts';
import { runRound } from './round.ts';
import { MEASURED, SCENARIOS } from './scenarios.ts';
import { until } from './until.ts';
import { warmUp } from './warm-up.ts';

export function drillRunner(parts: DrillParts, archive: DrillArchive): Drills {
  let running: string | null = null;
  const run: Drills['run'] = async ({ scenario: asked, model: name }, began = () => {}) => {
    const scenario = readScenario(asked);
    const model = readModel(parts.state, name);
    if (running !== null) throw new AppError('drill_running', `A drill runs already: ${running}.`);
    running = `${scenario} on ${model.name}`;
    try {
      const report = await drill(parts, newRun(parts, scenario, model), model, began);
      archive.add(report);
      return report;
    } finally {
      running = null;
    }
  };
  const keep: Drills['keep'] = (report) => {
    const { scenario, verdict, why, seconds } = report;
    const { name: model } = readModel(parts.state, report.model);
    if (archive.reports().some(({ id }) => id === report.id)) return;
    archive.add({ ...report, model });
    parts.submit({ type: 'drill_reported', scenario, model, verdict, why, seconds });
  };
  return { run, runEach: inTurn(run), keep, reports: archive.reports };
}

function newRun(parts: DrillParts, name: RunScenario, { name: model }: Model): Run {
  const id = parts.random().slice(0, 8);
  return { id, name, scenario: SCENARIOS[name], model, mark: parts.random() };
}

async function drill(parts: DrillParts, run: Run, model: Model, began: () => void): Promise<DrillReport> {
  const drilled = drilledModel(parts.state, model, parts.limits);
  const startedAt = parts.clock.now();
  const none = notApplicable(run.scenario, model, drilled);
  if (none !== null || drilled === null) {
    const others = { compared: 0, untouched: true, changed: [] };
    const ending: Ending = { verdict: 'not_applicable', why: none ?? '' };
    return report(parts, run, startedAt, { ending, rounds: [], others, memoryLow: null });
  }
  const before = await othersNow(parts);
  await freeMoment(parts, drilled);
  mayBegin(parts.state, drilled, before, parts.clock.now().mono);
  parts.begin(run);
  began();
  const low = memoryLow(parts);
  let ending: Ending = { verdict: 'failed', why: 'The drill itself broke off.' };
  try {
    const rounds = await bothRounds(parts, run, drilled);
    const others = compareOthers(before, await othersNow(parts));
    ending = endingOf(rounds, others);
    return report(parts, run, startedAt, { ending, rounds, others, memoryLow: low.lowest() });
  } catch (thrown) {
    ending = { verdict: 'failed', why: `The drill itself broke off: ${AppError.from(thrown).message}` };
    throw thrown;
  } finally {
    low.end();
    parts.arm(null);
    parts.end(ending);
  }
}

/** Rejects with AppError `docker_unreachable`, also where the engine never answers. */
async function othersNow(parts: DrillParts): Promise<readonly OtherContainer[]> {
  const { answer } = parts.limits;
  const found = await within(parts, parts.containers.others(), answer);
  if (found !== null) return found;
  throw new AppError('docker_unreachable', `The engine did not answer within ${answer / 1000} s.`);
}

/** Nobody uses the model. The begin follows in the same turn, so nobody can come between. */
async function freeMoment(parts: DrillParts, { model }: Drilled): Promise<void> {
  const free = () =>
    !isAwaited(parts.state, model) &&
    instancesOf(parts.state, model).every(({ leases }) => leases.size === 0);
  const limit = parts.clock.now().mono + parts.limits.free;
  while (!free()) {
    const left = limit - parts.clock.now().mono;
    if (left <= 0 || !(await until(parts, free, left)))
      throw refused(
        `${model} was in use for ${parts.limits.free / 1000} s; a drill never touches others' requests.`,
      );
  }
}

/** First without streaming, then with; a failure ends it, since the next round would show nothing. */
async function bothRounds(parts: DrillParts, run: Run, drilled: Drilled): Promise<DrillRound[]> {
  const rounds: DrillRound[] = [];
  for (const stream of [false, true]) {
    parts.submit({ type: 'drill_sealed' });
    const warm = await warmUp(parts, run, drilled, stream);
    const round =
      'why' in warm
        ? warm
        : judgeRound(run.scenario, await runRound(parts, run, drilled, stream, warm.speed));
    rounds.push(round);
    if (round.verdict === 'failed') break;
  }
  // A round that could not be made has eased nothing.
  parts.submit({ type: 'drill_eased' });
  return rounds;
}

function endingOf(rounds: readonly DrillRound[], { untouched, changed }: DrillReport['others']): Ending {
  const verdicts = rounds.map(({ verdict }) => verdict);
  const verdict = WORST.find((each) => verdicts.includes(each)) ?? 'passed';
  const texts = rounds.map(({ stream, why }) => `${stream ? 'With' : 'Without'} streaming: ${why}`);
  if (untouched) return { verdict, why: texts.join(' ') };
  const others = changed.map(({ name, what }) => `${name} ${what}`).join(', ');
  return { verdict: 'failed', why: `Containers of others changed meanwhile: ${others}. ${texts.join(' ')}` };
}

const WORST: readonly DrillVerdict[] = ['failed', 'not_applicable'];

function report(
  parts: DrillParts,
  run: Run,
  startedAt: { readonly mono: number; readonly wall: number },
  found: Pick<DrillReport, 'rounds' | 'others' | 'memoryLow'> & { readonly ending: Ending },
): DrillReport {
  const { ending, ...rest } = found;
  return {
    id: run.id,
    scenario: run.name,
    model: run.model,
    startedAt: parts.iso(startedAt.wall),
    seconds: Math.round(parts.clock.now().mono - startedAt.mono) / 1000,
    ...ending,
    ...rest,
    measured: MEASURED,
  };
}
