/**
 * A stream: passed on by whole events from the first content on. Ordinary text events are told by their
 * first bytes, all others are parsed.
 */
import type { Failure } from '../../../core/request.ts';
import type { Answer } from './answer.ts';
import { type Ending, withLength } from './answer-length.ts';
import type { EventKind } from './judge.ts';
import { errorFields, nothingReceived, type Receiver } from './receiver.ts';
import type { Rename } from './rename.ts';
import type { Transcript } from './resume/transcript.ts';
import { eventData, eventEnd, eventSplitter } from './sse.ts';
import { timingsIn } from './timings.ts';

/** An event that is longer has gone wrong. */
export const EVENT_BYTES = 16 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

export type Judge = (bytes: Buffer, start: number, end: number) => EventKind;

export interface StreamOptions {
  readonly answer: Answer;
  readonly contentType: string;
  readonly judge: Judge;
  readonly rename: Rename | null;
  /** We asked for prompt progress: its events are taken out; told with the event's data. */
  readonly onProgress: ((data: string) => void) | null;
  /** Tells in its last events why the answer ended; null: the path does not tell. */
  readonly ending: Ending | null;
  /** Gets what is passed on of a text that could be continued; null: it is not to be. */
  readonly transcript: Transcript | null;
}

export function streamReceiver(options: StreamOptions): Receiver {
  const { answer, judge, rename, ending, onProgress, transcript } = options;
  const splitter = eventSplitter();
  let held: Buffer[] = [];
  let heldBytes = 0;
  const now = nothingReceived();
  let plain: Buffer | null = null;
  let special: Buffer = EMPTY;
  let specialBefore: Buffer = EMPTY;
  let finish: Buffer | null = null;

  function pass(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const out = rename === null ? bytes : rename(bytes);
    if (now.begun) answer.write(out);
    else {
      held.push(out);
      heldBytes += out.length;
    }
  }

  function begin(): void {
    now.begun = true;
    answer.openStream(options.contentType);
    for (const bytes of held) answer.write(bytes);
    held = [];
    heldBytes = 0;
  }

  function judged(whole: Buffer, start: number, end: number): EventKind {
    if (plain !== null && startsWith(whole, start, end, plain)) return 'content';
    const kind = judge(whole, start, end);
    if (kind === 'content') plain ??= plainStart(whole, start, end);
    else if (kind !== 'more' && kind !== 'progress') {
      specialBefore = special;
      special = whole.subarray(start, end);
      if (kind === 'finish') finish = special;
    }
    return kind;
  }

  /** Passes on what is before the error event and keeps it. */
  function failed(whole: Buffer, from: number, start: number, end: number): Failure {
    pass(whole.subarray(from, start));
    const event = whole.subarray(start, end);
    now.kept = { kind: 'event', before: Buffer.concat(held), event };
    const { status, message } = errorFields(eventData(event.toString('utf8')) ?? '');
    return { kind: 'http', status: status ?? 500, message };
  }

  function note(kind: EventKind): void {
    if (kind === 'other' || kind === 'progress') return;
    if (kind === 'content') {
      if (now.forwarded === 'nothing') now.forwarded = 'content';
    } else if (kind === 'more' || now.forwarded === 'nothing') now.forwarded = 'more';
    if (kind === 'finish' || kind === 'end') now.finished = true;
    if (kind === 'end') now.whole = true;
    if (!now.begun) begin();
  }

  function progress(data: string): void {
    transcript?.progress(data);
    onProgress?.(data);
  }

  return {
    data(chunk) {
      const whole = splitter.push(chunk);
      if (whole === null) return splitter.pending() > EVENT_BYTES ? tooLong() : null;
      let from = 0;
      for (let start = 0; start < whole.length; ) {
        const end = eventEnd(whole, start);
        const kind = judged(whole, start, end);
        if (kind === 'error') return failed(whole, from, start, end);
        if (kind === 'content') transcript?.event(whole, start, end);
        if (kind === 'progress') progress(eventData(whole.toString('utf8', start, end)) ?? '');
        if (kind === 'progress' && onProgress !== null) {
          pass(whole.subarray(from, start));
          from = end;
        } else note(kind);
        start = end;
      }
      pass(from === 0 ? whole : whole.subarray(from));
      return heldBytes > EVENT_BYTES ? tooLong('too much before any content') : null;
    },
    end() {
      if (!now.whole) return { kind: 'reset', reused: false };
      answer.end();
      return null;
    },
    now,
    timings: () => withLength(timingsIn(special) ?? timingsIn(specialBefore), ending, [finish]),
  };
}

export function tooLong(what = 'an event without end'): Failure {
  return { kind: 'http', status: 500, message: `the instance sent ${what}` };
}

const CONTENT = Buffer.from('"content":"');
const UNFINISHED = Buffer.from('"finish_reason":null');

/**
 * The bytes up to the text of a content event. Another event that begins so is an unfinished piece of text
 * too; null where the finish reason does not come first and so is not told by the beginning.
 */
function plainStart(whole: Buffer, start: number, end: number): Buffer | null {
  const content = whole.indexOf(CONTENT, start);
  if (content < 0 || content >= end) return null;
  const prefix = whole.subarray(start, content + CONTENT.length);
  return prefix.includes(UNFINISHED) ? prefix : null;
}

function startsWith(whole: Buffer, start: number, end: number, prefix: Buffer): boolean {
  const stop = start + prefix.length;
  return stop <= end && prefix.compare(whole, start, stop) === 0;
}
