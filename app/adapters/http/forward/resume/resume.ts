/**
 * The attempt that continues a forwarded text on another instance: asks it about the text, then sends the same
 * request with the text as its last message. What the client sees of it begins after the seam.
 */
import type { Failure } from '../../../../core/request.ts';
import { type Asked, ask } from '../ask.ts';
import { type Attempt, newAttempt } from '../attempt.ts';
import { askForProgress } from '../body.ts';
import { attemptWatch, BYTES_PER_TOKEN, budget, type Forwarding, progressTo } from '../forwarding.ts';
import { type Json, parseObject } from '../judge.ts';
import type { Lane } from '../lane.ts';
import { readPrompt } from '../prompt-load.ts';
import { errorReceiver, nothingReceived, type Receiver } from '../receiver.ts';
import { backendHead } from '../receivers.ts';
import type { ResponseHead } from '../response-parser.ts';
import type { Judge } from '../stream-receiver.ts';
import { preflight } from './preflight.ts';
import { resumedBody, stopsOf, wantsUsage } from './resumed-body.ts';
import { ownEnding, type Seam } from './seam.ts';
import { seamReceiver } from './seam-receiver.ts';
import { stopScan } from './stop-scan.ts';
import type { Transcript } from './transcript.ts';

/** An instance tokenizes and renders templates at once, also while it generates. */
const ASK_MS = 30_000;
const LOST: Failure = { kind: 'reset', reused: false };
const GONE: Asked = { ok: false, failure: LOST };
const NO_STREAM: Failure = { kind: 'not_resumable', why: 'the instance sent no stream' };
const NO_COUNT: Failure = { kind: 'not_resumable', why: 'the tokens of its prompt are not known' };

/** `judge`: of the path's events. Its deadlines run from here on. */
export function prepareResume(forwarding: Forwarding, transcript: Transcript, judge: Judge): Attempt {
  const { shared, call, answer, grant } = forwarding;
  const body = parseObject(call.body.toString('utf8')) ?? {};
  const text = transcript.text() ?? '';
  const deadlines = attemptWatch(forwarding, ASK_MS, Number.POSITIVE_INFINITY);
  let firstLane: Lane | null = forwarding.taken.lane;
  /** Carry a question now. */
  const asking = new Set<Lane>();
  let sent: Attempt | null = null;
  let settled = false;

  function settle(): boolean {
    if (settled) return false;
    settled = true;
    deadlines.stop();
    for (const lane of asking) lane.abort();
    return true;
  }

  function fail(failure: Failure): void {
    if (!settle()) return;
    forwarding.ended({ kind: 'failed', failure, forwarded: 'nothing', finished: false, kept: null });
  }

  function nextLane(): Lane | undefined {
    const lane = firstLane ?? shared.connections.take(grant.instance, false)?.lane;
    firstLane = null;
    return lane;
  }

  async function askOn(path: string, question: Json): Promise<Asked> {
    const lane = nextLane();
    if (lane === undefined) return GONE;
    asking.add(lane);
    const asked = await ask(lane, path, question);
    asking.delete(lane);
    return asked;
  }

  /** The client's limit of tokens is reached: there is nothing to ask for. */
  function endHere(tokens: number): void {
    const { identity, promptTokens } = transcript.now;
    if (wantsUsage(body) && promptTokens === null) {
      fail(NO_COUNT);
      return;
    }
    if (!settle()) return;
    const usage = wantsUsage(body) && promptTokens !== null ? { promptTokens, tokens } : null;
    answer.write(Buffer.from(ownEnding(identity ?? {}, 'length', usage)));
    answer.end();
    forwarding.ended({ kind: 'completed', timings: null });
  }

  function send(continued: Json, tokens: number): void {
    const lane = nextLane();
    if (lane === undefined) {
      fail(LOST);
      return;
    }
    const bytes = askForProgress(Buffer.from(JSON.stringify({ ...continued, return_progress: undefined })));
    const seam: Seam = { identity: transcript.now.identity ?? {}, tokens };
    const estimate = bytes.length / BYTES_PER_TOKEN;
    const prompt = readPrompt(forwarding.taken.prompts, call.fields.textBytes / BYTES_PER_TOKEN);
    const onProgress = progressTo(forwarding, deadlines, prompt, estimate);
    const receive = (head: ResponseHead): Receiver =>
      receiverOf(head, () =>
        seamReceiver({
          answer,
          judge,
          seam,
          stops: stopScan(stopsOf(body), text),
          transcript,
          wantsUsage: wantsUsage(body),
          onProgress,
        }),
      );
    deadlines.expectFirst(budget(forwarding, prompt, estimate));
    sent = newAttempt({
      lane,
      path: call.path,
      body: bytes,
      receive,
      full: answer.full,
      watch: prompt.until(deadlines),
      onBegin: forwarding.begun,
      onEnd: forwarding.ended,
    });
    sent.send();
  }

  async function run(): Promise<void> {
    const { templates } = shared;
    const ready = await preflight({
      ask: askOn,
      text,
      body,
      profile: forwarding.taken.profile,
      known: templates,
    });
    if (settled) return;
    if (!ready.ok) {
      fail(ready.failure);
      return;
    }
    const continued = resumedBody(body, text, ready.tokens);
    if (continued === null) endHere(ready.tokens);
    else send(continued, ready.tokens);
  }

  return {
    send: () => void run(),
    cancel() {
      if (sent !== null) sent.cancel();
      else settle();
    },
    miss(what) {
      if (sent !== null) sent.miss(what);
      else fail({ kind: what });
    },
    resume: () => sent?.resume(),
    finished: () => sent?.finished() ?? false,
    timings: () => sent?.timings() ?? null,
  };
}

function receiverOf(head: ResponseHead, stream: () => Receiver): Receiver {
  if (head.status >= 300) return errorReceiver(backendHead(head));
  return head.contentType?.startsWith('text/event-stream') === true ? stream() : noStream();
}

/** Whatever it is, it does not go on with a stream. */
function noStream(): Receiver {
  return { data: () => NO_STREAM, end: () => NO_STREAM, now: nothingReceived(), timings: () => null };
}
