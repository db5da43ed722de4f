/** The replay table, read as a reason for an error. */
import type { Failed } from './errors.ts';

/** Of the chaos home, in seconds: how long a request waits, and then waits anew after an attempt. */
const DEADLINE_S = 30;
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

function late({ transcript, message }: Failed): string | null {
  const seconds = (transcript.endedAt - transcript.sentAt) / 1000;
  return /could not take the request within/.test(message) && seconds >= DEADLINE_S
    ? 'its time was over'
    : null;
}

/** No placement is back before the request's time is over. */
function outOfService({ message }: Failed): string | null {
  return /is out of service/.test(message) ? 'no placement is back in time' : null;
}
