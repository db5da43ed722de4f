/** The replay table, read as a reason for an error. */
import type { Failed } from './errors.ts';

/** Of the chaos home: how long a request waits, and then waits anew after an attempt. */
const DEADLINE_MS = 30_000;
const ATTEMPTS = 2;

/** Why the request had to end so; null: it should have been tried again, or have gone on. */
export function excuse(failed: Failed): string | null {
  switch (failed.code) {
    case 'failed_after_output':
      return failed.sent === 'nothing' ? null : (cannotGoOn(failed) ?? noMoreTries(failed));
    case 'backend_failed':
      return failed.sent === 'nothing' ? noMoreTries(failed) : null;
    case 'capacity':
      return failed.sent === 'nothing' ? outOfService(failed) : null;
    case 'deadline':
      return failed.sent === 'nothing' ? late(failed) : null;
    case 'poison':
      return failed.strikes.filter((how) => how === 'abort').length >= 2 ? 'ended two instances alone' : null;
    default:
      return null;
  }
}

/** What was sent is not the beginning of a plain text. */
function cannotGoOn({ transcript, sent, message }: Failed): string | null {
  if (transcript.path !== '/v1/chat/completions') return 'only a chat goes on';
  if (sent === 'more') return 'more than text was sent';
  if (transcript.body['tools'] !== undefined) return 'it asks for tools';
  if (message.includes('special tokens')) return 'the text holds special tokens';
  return null;
}

function noMoreTries(failed: Failed): string | null {
  const { transcript, attempts } = failed;
  if (transcript.headers['llamastead-replay'] === 'never') return 'replay: never';
  if (attempts >= ATTEMPTS) return 'no attempt is left';
  return late(failed) ?? outOfService(failed);
}

function late({ waitedMs, message }: Failed): string | null {
  const isTold = message.includes('could not take the request within');
  return isTold && waitedMs >= DEADLINE_MS ? 'its time was over' : null;
}

/** No placement is back before the request's time is over; an engine that does not answer is no placement's failure. */
function outOfService({ message }: Failed): string | null {
  if (/connect E[A-Z]+|engine could not be asked/.test(message)) return null;
  if (message.startsWith('The CPU would take about')) return 'the CPU is too slow, or has too many before it';
  return message.includes('is out of service') ? 'no placement is back in time' : null;
}
