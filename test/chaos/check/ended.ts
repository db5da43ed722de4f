/** Each request ended once: a whole answer, or an explicit error. */
import type { Transcript } from '../transcript.ts';
import type { Finding } from './finding.ts';
import { endOf, readEvents } from './stream.ts';

/** The one word for how a request ended. */
export type Outcome =
  | 'answered'
  | 'refused'
  | 'failed in the stream'
  | 'left'
  | 'cut by the death of the controller';

const REFUSALS = new Set([400, 422, 429, 502, 503, 504]);

/**
 * @param deaths times when the controller was away, in the transcripts' milliseconds
 * @returns how it ended, or what was wrong with its end
 */
export function judgeEnd(
  transcript: Transcript,
  deaths: readonly { readonly from: number; readonly to: number }[],
): Outcome | Finding {
  const { end, status } = transcript;
  const wrong = (what: string): Finding => ({ rule: 'each request ends once', request: transcript.id, what });
  if (end.kind === 'left') return 'left';
  if (end.kind === 'hung') return wrong(`no end after ${end.seconds} s: ${transcript.raw.slice(-100)}`);
  if (end.kind === 'broken') {
    const died = deaths.some(({ from, to }) => from <= transcript.endedAt && transcript.sentAt <= to);
    return died ? 'cut by the death of the controller' : wrong(`the connection broke: ${end.error}`);
  }
  if (!transcript.validUtf8) return wrong('the answer is not valid UTF-8');
  const streamed = transcript.answerHeaders['content-type']?.startsWith('text/event-stream') ?? false;
  if (streamed) return judgeStream(transcript, wrong);
  const body = parsed(transcript.raw);
  if (body === null)
    return wrong(`status ${status} with a body that is no JSON: ${transcript.raw.slice(0, 100)}`);
  if (status === 200)
    return 'choices' in body || 'output' in body || 'content' in body ? 'answered' : wrong('no answer in it');
  if (!REFUSALS.has(status ?? 0) || !('error' in body))
    return wrong(`status ${status}: ${transcript.raw.slice(0, 200)}`);
  return 'refused';
}

function judgeStream({ path, raw }: Transcript, wrong: (what: string) => Finding): Outcome | Finding {
  const { events, rest } = readEvents(raw);
  if (rest !== '') return wrong(`the stream ends inside an event: ${rest.slice(0, 100)}`);
  const ends = events.map((event) => endOf(path, event));
  const marks = ends.filter((end) => end !== null);
  if (marks.length !== 1) return wrong(`${marks.length} ends: ${marks.join(', ') || raw.slice(-200)}`);
  const last = events.findLastIndex((event) => event.data !== '');
  if (ends[last] === null) return wrong('something follows the end');
  return marks[0] === 'done' ? 'answered' : 'failed in the stream';
}

function parsed(raw: string): object | null {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
