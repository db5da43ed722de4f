/** The verdict of a drill's round, from what was seen of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DRILL_SCENARIOS, type DrillVerdict } from '../../app/core/drill.ts';
import type { Fact, FactBody } from '../../app/core/facts.ts';
import { compareOthers } from '../../app/inspect/drill/bystanders.ts';
import type { SeenByClient } from '../../app/inspect/drill/client.ts';
import { judgeRound } from '../../app/inspect/drill/judge.ts';
import type { RoundSeen } from '../../app/inspect/drill/observed.ts';
import { SCENARIOS } from '../../app/inspect/drill/scenarios.ts';
import type { OtherContainer } from '../../app/ports/drills.ts';

function answer(more: Partial<SeenByClient> = {}): SeenByClient {
  return {
    id: 'drill-1',
    idBack: 'drill-1',
    end: 'whole',
    error: null,
    status: 200,
    placement: 'cpu',
    attempts: 2,
    attempt: null,
    continued: false,
    pieces: 1,
    toolCalls: 0,
    speed: null,
    firstContentMs: 900,
    endMs: 1_500,
    ...more,
  };
}

function fact(body: FactBody): Fact {
  return { v: 1, seq: 1, time: '2026-11-30T12:00:00.000Z', model: 'chat', ...body };
}

function seen(more: Partial<RoundSeen> = {}): RoundSeen {
  return {
    stream: false,
    target: 'gpu',
    fallback: 'cpu',
    notMade: null,
    answers: [answer()],
    failedMs: 50,
    backMs: 4_000,
    sameInstance: false,
    leaseEndedMs: null,
    busySlots: null,
    other: null,
    facts: [
      fact({ type: 'model_loaded', placement: 'cpu', seconds: 0.7 }),
      fact({ type: 'failover', placement: 'gpu', to: 'cpu', reason: 'killed_outside' }),
    ],
    ...more,
  };
}

const whole = { attempts: 1, placement: 'gpu' } as const;
const calm = { failedMs: null, backMs: null, sameInstance: true, facts: [] } as const;
const rejection = answer({
  end: 'error',
  status: 400,
  error: { code: 'exceed', message: 'too long' },
  ...whole,
});
const afterOutput = answer({ end: 'error', error: { code: 'failed_after_output', message: 'cut' } });

const TABLE: readonly [string, keyof typeof SCENARIOS, Partial<RoundSeen>, DrillVerdict, RegExp][] = [
  [
    'an answer from the fallback',
    'kill',
    {},
    'passed',
    /whole answer from another attempt.*gpu served again after 4\.0 s/,
  ],
  [
    'a stream that was continued',
    'kill',
    { stream: true, answers: [answer({ continued: true })] },
    'passed',
    /went on/,
  ],
  [
    'a stream that ended by an explicit error',
    'kill',
    { stream: true, answers: [afterOutput] },
    'passed',
    /explicit error/,
  ],
  [
    'a whole answer that ended by an error',
    'kill',
    { answers: [afterOutput] },
    'failed',
    /ended with 200 failed_after_output/,
  ],
  ['an answer that was cut', 'kill', { answers: [answer({ end: 'cut' })] }, 'failed', /cut without an error/],
  [
    'an answer that never ended',
    'hang',
    { answers: [answer({ end: 'late' })] },
    'failed',
    /did not end in time/,
  ],
  ['another id', 'kill', { answers: [answer({ idBack: 'x' })] }, 'failed', /answered as x/],
  ['four attempts', 'kill', { answers: [answer({ attempts: 4 })] }, 'failed', /4 attempts/],
  ['two tool calls', 'tools', { answers: [answer({ toolCalls: 2 })] }, 'failed', /2 tool calls/],
  ['no tool call', 'tools', {}, 'not_applicable', /no tool call/],
  ['a GPU that stays away', 'kill', { backMs: null }, 'failed', /gpu did not come back/],
  [
    'an answer that was quicker',
    'kill',
    { ...calm, answers: [answer(whole)] },
    'not_applicable',
    /before the failure/,
  ],
  [
    'a limit that did not matter',
    'oom-runtime',
    { ...calm, answers: [answer(whole)] },
    'not_applicable',
    /memory limit/,
  ],
  [
    'a refusing engine',
    'oom-runtime',
    { notMade: 'no such thing', answers: [] },
    'not_applicable',
    /no such thing/,
  ],
  ['one of many cut', 'concurrent', { answers: [answer(), answer({ end: 'cut' })] }, 'failed', /cut/],
  ['a refused prompt', 'long-prompt', { ...calm, answers: [rejection] }, 'passed', /explicit error/],
  [
    'a prompt that was answered',
    'long-prompt',
    { ...calm, answers: [answer(whole)] },
    'failed',
    /should have been refused/,
  ],
  ['a prompt that ended the instance', 'long-prompt', { answers: [rejection] }, 'failed', /did not survive/],
  [
    'a model that reads pictures',
    'image',
    { ...calm, answers: [answer(whole)] },
    'not_applicable',
    /reads pictures/,
  ],
  [
    'a client that left',
    'cancel',
    { ...calm, answers: [answer({ end: 'left' })], leaseEndedMs: 20, busySlots: 0 },
    'passed',
    /left/,
  ],
  [
    'a request without its client',
    'cancel',
    { ...calm, answers: [answer({ end: 'left' })] },
    'failed',
    /went on without/,
  ],
  [
    'a slot that stays busy',
    'cancel',
    { ...calm, answers: [answer({ end: 'left' })], leaseEndedMs: 20, busySlots: 1 },
    'failed',
    /1 slots/,
  ],
  [
    'a second model that was refused',
    'second-model',
    { ...calm, answers: [answer(whole)], other: other('error', 'capacity') },
    'passed',
    /undisturbed/,
  ],
  [
    'a second model that fits',
    'second-model',
    { ...calm, answers: [answer(whole)], other: other('whole', '') },
    'not_applicable',
    /room for/,
  ],
  [
    'a second model that broke the first',
    'second-model',
    { ...seen(), other: other('error', 'capacity') },
    'failed',
    /did not survive/,
  ],
  [
    'a second model that failed',
    'second-model',
    { ...calm, answers: [answer(whole)], other: other('error', 'backend_failed') },
    'failed',
    /backend_failed/,
  ],
];

function other(end: 'whole' | 'error', code: string): RoundSeen['other'] {
  return { model: 'tiny', answer: answer({ end, error: end === 'error' ? { code, message: 'no' } : null }) };
}

for (const [what, scenario, more, verdict, why] of TABLE) {
  test(`${scenario}: ${what} is ${verdict}`, () => {
    const round = judgeRound(SCENARIOS[scenario], seen(more));
    assert.equal(round.verdict, verdict, round.why);
    assert.match(round.why, why);
  });
}

test('every scenario but the restart of the controller is in the table of scenarios', () => {
  const named = DRILL_SCENARIOS.filter((name) => name !== 'controller-restart');
  assert.deepEqual(Object.keys(SCENARIOS).sort(), named.sort());
});

test('a round tells its numbers in seconds, the reason and where it went', () => {
  const { firstFailure, reason, from, to, cpuStart, firstToken, answered, gpuBack, attempts } = judgeRound(
    SCENARIOS.kill,
    seen(),
  );
  assert.deepEqual(
    { firstFailure, reason, from, to, cpuStart, firstToken, answered, gpuBack, attempts },
    {
      firstFailure: 0.05,
      reason: 'killed_outside',
      from: 'gpu',
      to: 'cpu',
      cpuStart: 0.7,
      firstToken: 0.9,
      answered: 1.5,
      gpuBack: 4,
      attempts: 2,
    },
  );
});

const nas: OtherContainer = {
  engine: 'local',
  container: 'a',
  name: 'nas',
  running: true,
  startedAt: '1',
  exitCode: 0,
  oomKilled: false,
  gpus: [],
  ofAnotherHome: false,
};

test('a container of others that died or was started again counts against a drill, an orderly end does not', () => {
  const table: [Partial<OtherContainer> | null, boolean, string[]][] = [
    [{}, true, []],
    [{ startedAt: '2' }, false, ['was started again']],
    [{ running: false, exitCode: 137 }, false, ['ended with exit code 137']],
    [{ running: false, exitCode: 137, oomKilled: true }, false, ['ran out of memory']],
    [{ running: false, exitCode: 0 }, true, ['ended with exit code 0']],
    [null, true, ['was removed by somebody else']],
  ];
  for (const [after, untouched, changed] of table) {
    const found = compareOthers([nas], after === null ? [] : [{ ...nas, ...after }]);
    assert.equal(found.untouched, untouched);
    assert.deepEqual(
      found.changed.map(({ what }) => what),
      changed,
    );
  }
  assert.equal(compareOthers([{ ...nas, ofAnotherHome: true }], []).compared, 0);
  assert.equal(compareOthers([{ ...nas, running: false }], []).compared, 0);
});
