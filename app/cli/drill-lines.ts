/** A drill's report in lines for people. Pure. */
import type { DrillReport, DrillRound } from '../core/drill-report.ts';

const WORDS = { passed: 'passed', failed: 'FAILED', not_applicable: 'not applicable' } as const;

export function drillLines(report: DrillReport): string[] {
  const { scenario, model, verdict, why, rounds, others, memoryLow } = report;
  const values = rounds.flatMap((round) => [
    `  ${round.stream ? 'With' : 'Without'} streaming: ${WORDS[round.verdict]}`,
    ...roundLines(round).map((line) => `    ${line}`),
  ]);
  const changed = others.changed.map(({ name, what }) => `    ${name} ${what}`);
  const told = Object.entries(report.measured).map(([name, how]) => `    ${name}: ${how}`);
  return [
    `${scenario} on ${model}: ${WORDS[verdict]}`,
    `  ${why}`,
    ...values,
    ...(rounds.length === 0 ? [] : [othersLine(others), ...changed]),
    ...(memoryLow === null ? [] : [`  least memory available: ${(memoryLow / 2 ** 30).toFixed(1)} GiB`]),
    ...(rounds.length === 0 ? [] : ['  how it was measured:', ...told]),
  ];
}

function othersLine({ compared, untouched }: DrillReport['others']): string {
  return `  ${compared} containers of others: ${untouched ? 'untouched' : 'CHANGED'}`;
}

function roundLines(round: DrillRound): string[] {
  const seconds = (what: string, value: number | null) => (value === null ? [] : [`${what}: ${value} s`]);
  const where =
    round.from === null
      ? []
      : [`moved: ${round.from} to ${round.to ?? 'nowhere'} (${round.reason ?? 'unknown'})`];
  return [
    ...seconds('first failure seen after', round.firstFailure),
    ...where,
    ...seconds('fallback started in', round.cpuStart),
    ...seconds('first token after', round.firstToken),
    ...seconds('answered after', round.answered),
    ...seconds('served again after', round.gpuBack),
    ...round.checks.map(({ ok, text }) => `${ok ? 'ok ' : 'NOT'} ${text}`),
  ];
}
