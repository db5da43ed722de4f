/** From what was seen in one round to what is reported of it: checks, and a plain verdict. Pure. */
import type { DrillCheck, DrillOutcome, DrillRound } from '../../core/drill-report.ts';
import type { Reason } from '../../core/types.ts';
import { checksOf } from './checks.ts';
import type { SeenByClient } from './client.ts';
import { notShown } from './not-shown.ts';
import type { RoundSeen } from './observed.ts';
import type { Ending } from './parts.ts';
import type { Scenario } from './scenarios.ts';

export function judgeRound(scenario: Scenario, seen: RoundSeen): DrillRound {
  const outcomes = seen.answers.map((answer) => outcomeOf(answer, seen));
  const outcome = WORST.find((each) => outcomes.includes(each)) ?? 'undisturbed';
  const missing = notShown(scenario, seen);
  const checks = missing === null ? checksOf(scenario.expected, seen) : [];
  return {
    stream: seen.stream,
    ...(missing === null ? verdictOf(checks, praise(scenario, seen, outcome)) : missing),
    outcome,
    requests: seen.answers.length,
    firstFailure: seconds(seen.failedMs),
    reason: reasonOf(seen),
    from: seen.failedMs === null ? null : seen.target,
    to: seen.failedMs === null ? null : (factOf(seen, 'failover')?.to ?? seen.fallback),
    cpuStart: cpuStart(seen),
    firstToken: seconds(seen.answers[0]?.firstContentMs ?? null),
    answered: seconds(largest(seen.answers.map(({ endMs }) => endMs))),
    complete: seen.answers.length > 0 && seen.answers.every(({ end }) => end === 'whole'),
    connectionKept: seen.answers.every(({ end }) => end === 'whole' || end === 'error'),
    attempts: largest(seen.answers.map(({ attempts }) => attempts)),
    idKept: seen.answers.every(({ id, idBack }) => idBack === null || idBack === id),
    toolCalls: seen.answers.reduce((sum, { toolCalls }) => sum + toolCalls, 0),
    gpuBack: seconds(seen.backMs),
    checks,
  };
}

/** From bad to good. */
const WORST: readonly DrillOutcome[] = ['broken', 'error', 'cancelled', 'continued', 'moved', 'undisturbed'];

function outcomeOf(answer: SeenByClient, { stream }: RoundSeen): DrillOutcome {
  if (answer.end === 'left') return 'cancelled';
  if (answer.end === 'error') return 'error';
  if (answer.end !== 'whole') return 'broken';
  if ((answer.attempts ?? 1) < 2) return 'undisturbed';
  return stream && answer.continued ? 'continued' : 'moved';
}

function verdictOf(checks: readonly DrillCheck[], praised: string): Ending {
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length === 0) return { verdict: 'passed', why: praised };
  return { verdict: 'failed', why: failed.map(({ text }) => text).join(' ') };
}

function praise({ expected }: Scenario, seen: RoundSeen, outcome: DrillOutcome): string {
  const many = seen.answers.length > 1 ? `All ${seen.answers.length} requests` : 'The request';
  const back = seen.backMs === null ? '' : ` ${seen.target} served again after ${shown(seen.backMs)}.`;
  switch (expected) {
    case 'rejected':
      return 'It was refused by an explicit error, and nothing else happened.';
    case 'cancelled':
      return 'Its client left, the backend stopped, and nothing was tried again.';
    case 'undisturbed':
      return 'The answer was whole and undisturbed; the other model was refused or got its room elsewhere.';
    case 'moved':
      break;
  }
  const went: Partial<Record<DrillOutcome, string>> = {
    moved: `${many} got a whole answer from another attempt.`,
    undisturbed: `${many} got a whole answer from ${seen.fallback ?? seen.target}.`,
    continued: `${many} went on after the failure, to the end.`,
    error: `${many} ended, with an explicit error where an answer had begun that cannot be continued.`,
  };
  return `${went[outcome] ?? `${many} ended.`}${back}`;
}

function reasonOf(seen: RoundSeen): Reason | null {
  const told = (['failover', 'backend_crashed', 'load_failed'] as const)
    .map((type) => factOf(seen, type)?.reason)
    .find((reason) => reason !== undefined);
  return told ?? null;
}

/** 0: the fallback ran already when it was needed. */
function cpuStart(seen: RoundSeen): number | null {
  if (seen.failedMs === null || seen.fallback === null) return null;
  const loaded = seen.facts.find(
    ({ type, placement }) => type === 'model_loaded' && placement === seen.fallback,
  );
  return loaded?.seconds ?? 0;
}

function factOf({ facts }: RoundSeen, type: RoundSeen['facts'][number]['type']) {
  return facts.find((fact) => fact.type === type);
}

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (most, each) => (each !== null && (most === null || each > most) ? each : most),
    null,
  );
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms) / 1000;
}

function shown(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
