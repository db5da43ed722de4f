/**
 * One forwarding of a request to one instance: sends the bytes, hands what comes back to a receiver, and tells
 * how it ended. What follows from that is decided elsewhere.
 */
import type { Failure, Forwarded } from '../../../core/request.ts';
import type { Timings } from '../../../core/speed.ts';
import type { KeptError } from './answer.ts';
import type { Lane, LaneSink } from './lane.ts';
import type { Receiver } from './receiver.ts';
import type { ResponseHead } from './response-parser.ts';
import type { Missed, Watch } from './watch.ts';

const COLON = 0x3a;

export interface AttemptOptions {
  readonly lane: Lane;
  readonly path: string;
  readonly body: Buffer;
  /** Who takes the answer in, told by its head. */
  readonly receive: (head: ResponseHead) => Receiver;
  /** The client reads more slowly than we write. */
  readonly full: () => boolean;
  /** Started by the attempt's bytes, stopped at its end. */
  readonly watch: Watch;
  /** The first content, or a whole answer's first byte; `answers` false: of an error, so another try may follow. */
  readonly onBegin: (answers: boolean) => void;
  /** Called once, synchronously, unless the attempt was cancelled. */
  readonly onEnd: (end: AttemptEnd) => void;
}

export type AttemptEnd =
  | { readonly kind: 'completed'; readonly timings: Timings | null }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      readonly forwarded: Forwarded;
      /** The client has all but the end mark. */
      readonly finished: boolean;
      readonly kept: KeptError | null;
    };

export interface Attempt {
  /** Sends the request, once; the end may be told before it returns. */
  send(): void;
  /** Gives the upstream up at once; `onEnd` will not be called. */
  cancel(): void;
  /** Ends it by a missed deadline. */
  miss(what: Extract<Missed, 'first_token_deadline' | 'stall' | 'frozen'>): void;
  /** The client reads again. */
  resume(): void;
  /** The client has everything but the end mark. */
  finished(): boolean;
  /** What the instance measured, as far as it was told. */
  timings(): Timings | null;
}

/** An empty comment: a silent stream of llama-server is alive by it, also where its device hangs. */
function isPing(chunk: Buffer): boolean {
  return chunk.length === 3 && chunk[0] === COLON;
}

export function newAttempt(options: AttemptOptions): Attempt {
  const { lane, watch } = options;
  let receiver: Receiver | null = null;
  let answers = false;
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
    lane.abort();
    options.onEnd({
      kind: 'failed',
      failure,
      forwarded: receiver?.now.forwarded ?? 'nothing',
      finished: receiver?.now.finished ?? false,
      kept: receiver?.now.kept ?? null,
    });
  }

  function complete(): void {
    if (!settle()) return;
    options.onEnd({ kind: 'completed', timings: receiver?.timings() ?? null });
  }

  /** Nothing more comes; what was received decides whether that is an end or a failure. */
  function cut(failure: Failure): void {
    if (receiver?.now.whole !== true) fail(failure);
    else {
      lane.abort();
      receiver.end();
      complete();
    }
  }

  const sink: LaneSink = {
    head(head) {
      answers = head.status < 300;
      receiver = options.receive(head);
    },
    data(chunk) {
      if (receiver === null) return;
      const failure = receiver.data(chunk);
      if (failure !== null) {
        fail(failure);
        return;
      }
      if (receiver.now.over) {
        cut({ kind: 'reset', reused: false });
        return;
      }
      if (isPing(chunk)) watch.ping();
      else watch.bytes(receiver.now.begun);
      if (receiver.now.begun && !begun) {
        begun = true;
        options.onBegin(answers);
      }
      if (options.full()) {
        lane.pause();
        watch.paused(true);
      }
    },
    end() {
      const failure = receiver?.end() ?? null;
      if (failure === null) complete();
      else fail(failure);
    },
    broken({ sent, stale }) {
      cut(sent ? { kind: 'reset', reused: stale && receiver === null } : { kind: 'refused' });
    },
  };

  return {
    send() {
      lane.send(options.path, options.body, sink);
    },
    cancel() {
      if (settle()) lane.abort();
    },
    miss(what) {
      cut({ kind: what });
    },
    resume() {
      if (settled) return;
      watch.paused(false);
      lane.resume();
    },
    finished: () => receiver?.now.finished ?? false,
    timings: () => receiver?.timings() ?? null,
  };
}
