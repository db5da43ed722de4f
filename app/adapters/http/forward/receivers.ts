/** Which receiver an answer needs, told by its head. */
import type { BackendHead } from './answer.ts';
import { errorReceiver, type Receiver, wholeReceiver } from './receiver.ts';
import type { ResponseHead } from './response-parser.ts';
import { type Judge, type StreamOptions, streamReceiver } from './stream-receiver.ts';

export interface ReceiverOptions extends Omit<StreamOptions, 'contentType' | 'judge'> {
  /** Null: the path has no streams. */
  readonly judge: Judge | null;
}

/** One for each attempt; what it gives is called once, with the answer's head. */
export function receiverFor(options: ReceiverOptions): (head: ResponseHead) => Receiver {
  const { answer, judge } = options;
  return (got) => {
    const head = backendHead(got);
    if (got.status >= 300) return errorReceiver(head);
    if (judge !== null && head.contentType.startsWith('text/event-stream')) {
      return streamReceiver({ ...options, judge, contentType: head.contentType });
    }
    return wholeReceiver(answer, head, got.contentLength, options);
  };
}

export function backendHead({ status, contentType, retryAfter }: ResponseHead): BackendHead {
  return { status, contentType: contentType ?? 'application/json; charset=utf-8', retryAfter };
}
