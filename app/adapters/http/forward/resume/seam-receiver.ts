/** The stream of a resumed answer: its events go on where the first answer's were cut. */
import type { Failure } from '../../../../core/request.ts';
import type { Answer } from '../answer.ts';
import { type EventKind, type Json, parseObject } from '../judge.ts';
import { errorFields, nothingReceived, type Receiver } from '../receiver.ts';
import { eventData, eventEnd, eventSplitter } from '../sse.ts';
import { EVENT_BYTES, type Judge, tooLong } from '../stream-receiver.ts';
import { timingsIn } from '../timings.ts';
import { afterSeam, contentEvent, ownEnding, type Seam, sse, withContent } from './seam.ts';
import type { StopScan } from './stop-scan.ts';
import { contentOf, type Transcript } from './transcript.ts';

export interface SeamOptions {
  readonly answer: Answer;
  readonly judge: Judge;
  readonly seam: Seam;
  readonly stops: StopScan;
  readonly transcript: Transcript;
  readonly wantsUsage: boolean;
  readonly onProgress: (data: string) => void;
}

const NOT_TEXT: Failure = { kind: 'not_resumable', why: 'what came after it was not plain text' };

export function seamReceiver(options: SeamOptions): Receiver {
  const { answer, judge, seam, stops, transcript } = options;
  const splitter = eventSplitter();
  const now = nothingReceived();
  let out = '';
  let events = 0;
  let promptTokens = 0;
  let last: Buffer = Buffer.alloc(0);

  function tell(event: Json): void {
    const text = contentOf(event);
    if (text !== null) transcript.add(text);
    out += sse(event);
  }

  function content(event: Json): void {
    events += 1;
    const { text, stopped } = stops.push(contentOf(event) ?? '');
    if (stopped) stop();
    else if (text !== '') tell(withContent(event, text));
  }

  /** A stop string is complete over the seam: the instance does not know it and would go on. */
  function stop(): void {
    // The instance ends too early to count its tokens; an event has at least one.
    const usage = options.wantsUsage ? { promptTokens, tokens: seam.tokens + events } : null;
    out += ownEnding(seam.identity, 'stop', usage);
    now.finished = now.whole = now.over = true;
  }

  function progress(data: string): void {
    const told = parseObject(data)?.['prompt_progress'] as { readonly total?: unknown } | undefined;
    if (typeof told?.total === 'number') promptTokens = Math.max(0, told.total - seam.tokens);
    options.onProgress(data);
  }

  function passOn(data: string, kind: EventKind): void {
    const event = parseObject(data);
    const told = event === null ? null : afterSeam(event, seam);
    if (kind === 'finish') {
      const rest = stops.rest();
      if (rest !== '') tell(contentEvent(seam.identity, rest));
    }
    if (told === null) return;
    if (kind === 'content') content(told);
    else tell(told);
  }

  function take(bytes: Buffer, kind: EventKind): Failure | null {
    const data = eventData(bytes.toString('utf8'));
    if (kind === 'more') return NOT_TEXT;
    if (kind === 'error') {
      const { status, message } = errorFields(data ?? '');
      return { kind: 'http', status: status ?? 500, message };
    }
    if (kind === 'progress') progress(data ?? '');
    else if (kind === 'end') out += bytes.toString('utf8');
    else if (data === null) out += bytes.toString('utf8');
    else passOn(data, kind);
    if (kind === 'finish' || kind === 'other') last = bytes;
    if (kind === 'content' || kind === 'finish' || kind === 'end') now.begun = true;
    if (kind === 'finish' || kind === 'end') now.finished = true;
    if (kind === 'end') now.whole = true;
    return null;
  }

  function flush(): void {
    if (out === '') return;
    answer.write(Buffer.from(out));
    now.forwarded = 'content';
    out = '';
  }

  return {
    data(chunk) {
      const whole = splitter.push(chunk);
      if (whole === null) return splitter.pending() > EVENT_BYTES ? tooLong() : null;
      let failure: Failure | null = null;
      for (let start = 0; start < whole.length && failure === null && !now.over; ) {
        const end = eventEnd(whole, start);
        failure = take(whole.subarray(start, end), judge(whole, start, end));
        start = end;
      }
      flush();
      return failure;
    },
    end() {
      if (!now.whole) return { kind: 'reset', reused: false };
      answer.end();
      return null;
    },
    now,
    timings: () => timingsIn(last),
  };
}
