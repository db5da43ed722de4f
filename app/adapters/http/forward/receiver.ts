/** How one attempt's answer is taken in: held, or passed on by whole events. One receiver for each kind. */
import type { Failure, Forwarded, Overflow } from '../../../core/request.ts';
import type { Timings } from '../../../core/speed.ts';
import type { Answer, BackendHead, KeptError } from './answer.ts';
import { type Ending, withLength } from './answer-length.ts';
import { type Json, parseObject } from './judge.ts';
import type { Rename } from './rename.ts';
import { timingsIn } from './timings.ts';

/** Answers that are not streams are held up to this many bytes. */
export const HOLD_BYTES = 4 * 1024 * 1024;
const ERROR_BYTES = 1024 * 1024;

/** Made for each attempt, so without accessors: V8 makes a hidden class for each object that has one. */
export interface Receiver {
  /** Takes bytes of the body; a failure ends the attempt. */
  data(chunk: Buffer): Failure | null;
  /** The body ended, and by HTTP's measure it is whole; null: so is the answer. */
  end(): Failure | null;
  readonly now: Received;
  timings(): Timings | null;
}

/** How far an answer has come. */
export interface Received {
  forwarded: Forwarded;
  /** The first content, or for a whole answer its first byte, is here. */
  begun: boolean;
  /** The client has all but the end mark. */
  finished: boolean;
  /** All that the client is to have was passed on: a connection that fails now has done its work. */
  whole: boolean;
  /** The answer has its end already: no more is wanted of the instance. */
  over: boolean;
  /** An error answer or event, for `pass_on`. */
  kept: KeptError | null;
}

export function nothingReceived(): Received {
  return { forwarded: 'nothing', begun: false, finished: false, whole: false, over: false, kept: null };
}

/** Nothing came, or what came can't be given to a client that was promised a stream. */
const NO_ANSWER: Failure = { kind: 'reset', reused: false };

/** An answer that is not a stream: held until it is whole, or too large to hold. */
export function wholeReceiver(
  answer: Answer,
  head: BackendHead,
  contentLength: string | null,
  { rename, ending }: { readonly rename: Rename | null; readonly ending: Ending | null },
): Receiver {
  const now = nothingReceived();
  let parts: Buffer[] = [];
  let size = 0;
  let first: Buffer | null = null;
  let last: Buffer | null = null;
  let passing = false;
  const renamed = () => (rename === null ? parts : [rename(Buffer.concat(parts, size))]);

  /** False where the client waits for a stream. */
  function passThrough(): boolean {
    passing = answer.openWhole(head, rename === null ? contentLength : null);
    if (!passing) return false;
    now.forwarded = 'more';
    for (const part of renamed()) answer.write(part);
    parts = [];
    return true;
  }

  return {
    data(chunk) {
      size += chunk.length;
      first ??= chunk;
      last = chunk;
      now.begun = true;
      if (passing) answer.write(chunk);
      else {
        parts.push(chunk);
        if (size > HOLD_BYTES && !passThrough()) return NO_ANSWER;
      }
      return null;
    },
    end() {
      if (passing) answer.end();
      else if (size === 0 || answer.headSent()) return NO_ANSWER;
      else answer.whole(head, renamed());
      return null;
    },
    now,
    timings: () => withLength(last === null ? null : timingsIn(last), ending, [last, first]),
  };
}

/** An error answer: held, then told as a failure. */
export function errorReceiver(head: BackendHead): Receiver {
  const now = nothingReceived();
  const parts: Buffer[] = [];
  let size = 0;
  return {
    data(chunk) {
      size += chunk.length;
      now.begun = true;
      parts.push(chunk);
      return size > ERROR_BYTES ? { kind: 'http', status: head.status, message: 'an error too long' } : null;
    },
    end() {
      const body = Buffer.concat(parts, size);
      now.kept = { kind: 'answer', head, body };
      const { message, overflow } = errorFields(body.toString('utf8'));
      if (head.status === 503 && /loading model/i.test(message)) return { kind: 'loading' };
      return { kind: 'http', status: head.status, message, ...(overflow === null ? {} : { overflow }) };
    },
    now,
    timings: () => null,
  };
}

/** The message of an error body or of an error event's data; the text itself where it has none. */
export function errorMessage(text: string): string {
  return errorFields(text).message;
}

/** A message is told in events and logs: so many characters of it say enough. */
const MESSAGE_LENGTH = 500;

/** What llama-server's error object says, its message shortened; `status`: its `code` where that is a number. */
interface ErrorFields {
  readonly status: number | null;
  readonly message: string;
  readonly overflow: Overflow | null;
}

/** Reads llama-server's error object, or takes the text itself for the message. */
export function errorFields(text: string): ErrorFields {
  const error = parseObject(text)?.['error'];
  const shown = (message: unknown) => (typeof message === 'string' ? message : text).slice(0, MESSAGE_LENGTH);
  if (typeof error !== 'object' || error === null)
    return { status: null, message: shown(error), overflow: null };
  const { message, code, ...more } = error as Json;
  return {
    status: typeof code === 'number' ? code : null,
    message: shown(message),
    overflow: overflowOf(more),
  };
}

/** `exceed_context_size_error` has the tokens of the prompt and of the context. */
function overflowOf({ type, n_prompt_tokens: tokens, n_ctx: context }: Json): Overflow | null {
  const told =
    type === 'exceed_context_size_error' && typeof tokens === 'number' && typeof context === 'number';
  return told ? { tokens, context } : null;
}
