/** Why a round shows nothing on this machine: said plainly, never counted as a success. Pure. */
import type { RoundSeen } from './observed.ts';
import type { Ending } from './parts.ts';
import type { Scenario } from './scenarios.ts';

/** Null: it can be judged. */
export function notShown({ fault, sent, expected }: Scenario, seen: RoundSeen): Ending | null {
  const na = (why: string): Ending => ({ verdict: 'not_applicable', why });
  if (seen.notMade !== null) return na(`The failure could not be made here: ${seen.notMade}.`);
  const [first] = seen.answers;
  if (sent === 'image' && first?.end === 'whole')
    return na('This model reads pictures, so there is nothing to refuse.');
  const ended = seen.answers.every(({ end }) => end === 'whole' || end === 'error');
  if (sent === 'tool_call' && ended && seen.answers.every(({ toolCalls }) => toolCalls === 0))
    return na('The model made no tool call.');
  const wentThrough = seen.answers.length > 0 && seen.answers.every(({ end }) => end === 'whole');
  if (expected === 'moved' && seen.failedMs === null && wentThrough) {
    return fault.kind === 'starve'
      ? na('The lowered memory limit did not end the instance: it took no more memory.')
      : na('The answer was whole before the failure took effect.');
  }
  if (expected === 'cancelled' && first?.end === 'whole')
    return na('The answer was whole before the client could leave.');
  if (fault.kind === 'load_other') return aboutOther(seen, na);
  return null;
}

function aboutOther({ other, facts }: RoundSeen, na: (why: string) => Ending): Ending | null {
  if (other === null) return na('There is no second model that is not loaded.');
  const gaveWay = facts.some(({ type, why }) => type === 'model_unloading' && why === 'room');
  if (other.answer.end === 'whole' && !gaveWay)
    return na(`There was room for ${other.model} as well, so the lack of it could not be shown.`);
  return null;
}
