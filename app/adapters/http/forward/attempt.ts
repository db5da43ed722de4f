/**
 * One forwarding of a request to one instance, by undici's `dispatch`: sends the bytes, hands what comes
 * back to a receiver, and tells how it ended. What follows from that is decided elsewhere.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Failure, Forwarded } from '../../../core/request.ts';
import { AppError } from '../../../errors.ts';
import type { Answer, BackendHead, KeptError } from './answer.ts';
import type { Lane } from './connections.ts';
import type { Protocol } from './protocols.ts';
import { errorReceiver, type Receiver, wholeReceiver } from './receiver.ts';
import type { Rename } from './rename.ts';
import { streamReceiver } from './stream-receiver.ts';
import type { Timings } from './timings.ts';
import type { Missed, Watch } from './watch.ts';

export interface AttemptOptions {
  readonly lane: Lane;
  readonly path: string;
  readonly body: Buffer;
  readonly stream: boolean;
  readonly protocol: Protocol;
  readonly answer: Answer;
  readonly rename: Rename | null;
  readonly onProgress: ((data: string) => void) | null;
  /** Started by the attempt's bytes, stopped at its end. */
  readonly watch: Watch;
  /** The first content, or a whole answer's first byte. */
  readonly onBegin: () => void;
  /** Called once, synchronously, unless the attempt was cancelled. */
  readonly onEnd: (end: AttemptEnd) => void;
}

export type AttemptEnd =
  | { readonly kind: 'completed'; readonly timings: Timings | null }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      readonly forwarded: Forwarded;
      readonly kept: KeptError | null;
    };

export interface Attempt {
  /** Sends the request, once; the end may be told before it returns. */
  send(): void;
  /** Gives the upstream up at once; `onEnd` will not be called. */
  cancel(): void;
  /** Ends it by a missed deadline. */
  miss(what: Extract<Missed, 'first_token_deadline' | 'stall'>): void;
  /** The client reads again. */
  resume(): void;
  /** The client has everything but the end mark. */
  finished(): boolean;
}

const CANCELLED = new AppError('attempt_cancelled', 'the attempt was given up');

export function newAttempt(options: AttemptOptions): Attempt {
  const { lane, answer, watch } = options;
  let controller: Dispatcher.DispatchController | null = null;
  let receiver: Receiver | null = null;
  let reused = false;
  let begun = false;
  let settled = false;

  function settle(): boolean {
    if (settled) return false;
    settled = true;
    watch.stop();
    return true;
  }

  function fail(failure: Failure): void {
    if (!settle()) return;
    controller?.abort(CANCELLED);
    options.onEnd({
      kind: 'failed',
      failure,
      forwarded: receiver?.now.forwarded ?? 'nothing',
      kept: receiver?.now.kept ?? null,
    });
  }

  function complete(): void {
    if (!settle()) return;
    options.onEnd({ kind: 'completed', timings: receiver?.timings() ?? null });
  }

  function cut(): void {
    if (receiver?.now.whole === true) {
      receiver.end();
      complete();
    } else fail(brokenConnection(controller !== null, reused && receiver === null && !lane.closed));
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      reused = lane.carried > 0;
      lane.carried += 1;
      if (settled) started.abort(CANCELLED);
    },
    onResponseStart(_controller, status, headers) {
      if (!settled && status >= 200) receiver = receiverFor(options, status, headers);
    },
    onResponseData(_controller, chunk) {
      if (settled || receiver === null) return;
      const failure = receiver.data(chunk);
      if (failure !== null) {
        fail(failure);
        return;
      }
      watch.bytes(receiver.now.begun);
      if (receiver.now.begun && !begun) {
        begun = true;
        options.onBegin();
      }
      if (answer.full()) {
        controller?.pause();
        watch.paused(true);
      }
    },
    onResponseEnd() {
      lane.release(options.stream);
      if (settled || receiver === null) return;
      const failure = receiver.end();
      if (failure === null) complete();
      else fail(failure);
    },
    onResponseError() {
      lane.release(options.stream);
      if (!settled) cut();
    },
  };
  return {
    send() {
      const { path, body } = options;
      const { client, headers } = lane;
      client.dispatch({ path, method: 'POST', headers, body }, handler);
    },
    cancel() {
      if (settle()) controller?.abort(CANCELLED);
    },
    miss(what) {
      if (receiver?.now.whole === true) cut();
      else fail({ kind: what });
    },
    resume() {
      if (settled || controller === null) return;
      watch.paused(false);
      controller.resume();
    },
    finished: () => receiver?.now.finished ?? false,
  };
}

function receiverFor(options: AttemptOptions, status: number, headers: IncomingHttpHeaders): Receiver {
  const { answer, protocol, rename } = options;
  const contentType = headers['content-type'] ?? 'application/json; charset=utf-8';
  const head: BackendHead = { status, contentType, retryAfter: headers['retry-after'] ?? null };
  if (status >= 300) return errorReceiver(head);
  if (protocol.judge !== null && contentType.startsWith('text/event-stream')) {
    return streamReceiver({
      answer,
      contentType,
      judge: protocol.judge,
      rename,
      onProgress: options.onProgress,
    });
  }
  return wholeReceiver(answer, head, headers['content-length'] ?? null, rename);
}

function brokenConnection(sent: boolean, stale: boolean): Failure {
  return sent ? { kind: 'reset', reused: stale } : { kind: 'refused' };
}
