/** A drill's report as the controller makes it, for tests of what shows one. */
import type { DrillReport, DrillRound } from '../../app/core/drill-report.ts';

export function drillRound(change: Partial<DrillRound> = {}): DrillRound {
  return {
    stream: false,
    verdict: 'passed',
    why: 'The request got a whole answer from another attempt.',
    outcome: 'moved',
    requests: 1,
    firstFailure: 0.05,
    reason: 'killed_outside',
    from: 'gpu',
    to: 'cpu',
    cpuStart: 0.7,
    firstToken: 0.9,
    answered: 1.5,
    complete: true,
    connectionKept: true,
    attempts: 2,
    idKept: true,
    toolCalls: 0,
    gpuBack: 4,
    checks: [{ name: 'id', ok: true, text: 'The request kept its id.' }],
    ...change,
  };
}

export function drillReport(change: Partial<DrillReport> = {}): DrillReport {
  return {
    id: 'd1',
    scenario: 'kill',
    model: 'chat',
    startedAt: '2026-11-30T12:00:00.000Z',
    seconds: 12,
    verdict: 'passed',
    why: 'All went well.',
    rounds: [drillRound()],
    others: { compared: 3, untouched: true, changed: [] },
    memoryLow: 2 ** 31,
    measured: { firstToken: 'at the client' },
    ...change,
  };
}
