/** What has to hold, by what is expected of a scenario. Pure. */
import type { DrillCheck } from '../../core/drill-report.ts';
import type { SeenByClient } from './client.ts';
import type { RoundSeen } from './observed.ts';
import type { Scenario } from './scenarios.ts';

/** The replay table allows two; a third for a suspect that runs alone. */
const MOST_ATTEMPTS = 3;
/** A backend that generates notices a closed connection at its next token. */
const CANCEL_MS = 5_000;

export function checksOf(expected: Scenario['expected'], seen: RoundSeen): DrillCheck[] {
  switch (expected) {
    case 'moved':
      return [answered(seen), failed(seen), ...common(seen), toolCalls(seen), isBack(seen)];
    case 'rejected':
      return [rejected(seen), ...common(seen), unharmed(seen)];
    case 'cancelled':
      return [ended(seen), slotFree(seen), notTriedAgain(seen), unharmed(seen)];
    case 'undisturbed':
      return [answered(seen), otherEnded(seen), ...common(seen), notTriedAgain(seen), unharmed(seen)];
  }
}

/** Whole; or, of a stream whose words the client has, an explicit error. */
function answered({ answers, stream }: RoundSeen): DrillCheck {
  const bad = answers.find(
    ({ end, error }) =>
      !(end === 'whole' || (end === 'error' && stream && error?.code === 'failed_after_output')),
  );
  const whole = answers.filter(({ end }) => end === 'whole').length;
  const text =
    bad === undefined ? `${whole} of ${answers.length} answers were whole.` : `An answer ${howItEnded(bad)}.`;
  return { name: 'answer', ok: bad === undefined, text };
}

function failed({ failedMs, target }: RoundSeen): DrillCheck {
  const text =
    failedMs === null
      ? `The failure of ${target} was not noticed.`
      : `The failure of ${target} was noticed ${ms(failedMs)} after the request.`;
  return { name: 'failure', ok: failedMs !== null, text };
}

function rejected({ answers }: RoundSeen): DrillCheck {
  const bad = answers.find(({ end }) => end !== 'error');
  const [first] = answers;
  const text =
    bad === undefined
      ? `It was refused with ${first?.status}: ${first?.error?.message ?? ''}`
      : `It should have been refused, but the answer ${howItEnded(bad)}.`;
  return { name: 'answer', ok: bad === undefined, text };
}

function common({ answers }: RoundSeen): DrillCheck[] {
  const cut = answers.find(({ end }) => end === 'cut' || end === 'late');
  const other = answers.find(({ id, idBack }) => idBack !== null && idBack !== id);
  const most = Math.max(0, ...answers.map(({ attempts }) => attempts ?? 0));
  return [
    {
      name: 'id',
      ok: other === undefined,
      text: other === undefined ? 'The request kept its id.' : `${other.id} was answered as ${other.idBack}.`,
    },
    {
      name: 'connection',
      ok: cut === undefined,
      text:
        cut === undefined ? 'The client kept its connection.' : `The client's connection ${howItEnded(cut)}.`,
    },
    { name: 'attempts', ok: most <= MOST_ATTEMPTS, text: `It took ${most} attempts at most.` },
  ];
}

function toolCalls({ answers }: RoundSeen): DrillCheck {
  const most = Math.max(0, ...answers.map((answer) => answer.toolCalls));
  return { name: 'tool_calls', ok: most <= 1, text: `The client saw ${most} tool calls in an answer.` };
}

function isBack({ backMs, target }: RoundSeen): DrillCheck {
  const text =
    backMs === null ? `${target} did not come back in time.` : `${target} was back after ${ms(backMs)}.`;
  return { name: 'gpu_back', ok: backMs !== null, text };
}

function unharmed({ sameInstance, failedMs, target }: RoundSeen): DrillCheck {
  const ok = sameInstance && failedMs === null;
  const text = ok ? `The instance on ${target} went on.` : `The instance on ${target} did not survive it.`;
  return { name: 'instance', ok, text };
}

function ended({ leaseEndedMs }: RoundSeen): DrillCheck {
  const ok = leaseEndedMs !== null && leaseEndedMs <= CANCEL_MS;
  const text =
    leaseEndedMs === null
      ? 'The request went on without its client.'
      : `It was over ${ms(leaseEndedMs)} after its client left.`;
  return { name: 'answer', ok, text };
}

function slotFree({ busySlots }: RoundSeen): DrillCheck {
  const text =
    busySlots === null
      ? 'The backend does not tell its slots.'
      : `${busySlots} slots of the backend were busy afterwards.`;
  return { name: 'slot', ok: busySlots === null || busySlots === 0, text };
}

function notTriedAgain({ facts }: RoundSeen): DrillCheck {
  const moved = facts.some(({ type }) => type === 'failover');
  return { name: 'attempts', ok: !moved, text: moved ? 'It was tried again.' : 'Nothing was tried again.' };
}

function otherEnded({ other }: RoundSeen): DrillCheck {
  const answer = other?.answer;
  const ok = answer?.end === 'whole' || (answer?.end === 'error' && answer.error?.code === 'capacity');
  const text =
    answer === undefined
      ? 'No second model was asked.'
      : `The request to ${other?.model} ${howItEnded(answer)}.`;
  return { name: 'answer', ok, text };
}

function howItEnded({ end, status, error }: SeenByClient): string {
  switch (end) {
    case 'whole':
      return 'was answered whole';
    case 'error':
      return `ended with ${status} ${error?.code ?? ''}: ${error?.message ?? ''}`.replace(/\.$/, '');
    case 'cut':
      return 'was cut without an error';
    case 'left':
      return 'was left by its client';
    case 'late':
      return 'did not end in time';
  }
}

function ms(value: number): string {
  return value < 1_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}
