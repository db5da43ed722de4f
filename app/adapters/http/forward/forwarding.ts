/** Makes the attempt of a granted request: what is sent, how long it may take, what is taken out again. */
import type { Effect } from '../../../core/effects.ts';
import type { Answer } from './answer.ts';
import { type Attempt, type AttemptEnd, newAttempt } from './attempt.ts';
import { askForProgress } from './body.ts';
import { firstContentMs } from './budget.ts';
import type { Call, Shared } from './call.ts';
import type { Taken } from './connections.ts';
import { parseObject } from './judge.ts';
import { type ReadPrompt, readPrompt } from './prompt-load.ts';
import { receiverFor } from './receivers.ts';
import { renameModel } from './rename.ts';
import type { Transcript } from './resume/transcript.ts';
import { type Missed, type Watch, watch } from './watch.ts';

export type Grant = Extract<Effect, { type: 'grant' }>;

export interface Forwarding {
  readonly shared: Shared;
  readonly call: Call;
  readonly answer: Answer;
  /** The client asked for a stream, and the path has one. */
  readonly streams: boolean;
  readonly grant: Grant;
  readonly taken: Taken;
  readonly missed: (what: Missed) => void;
  readonly begun: (answers: boolean) => void;
  readonly ended: (end: AttemptEnd) => void;
}

/** Bytes of JSON that make a token, at least: an estimate that is rather too high. */
export const BYTES_PER_TOKEN = 3;
/** Tokens that a whole answer may have where the client names no limit. */
const UNLIMITED_TOKENS = 4096;

/**
 * The deadlines of an attempt, from here on: `firstMs` to the first content, `clientDeadline` in monotonic ms. Between
 * its tokens an instance may have to read the prompt of another request, which has a deadline of its own but on the
 * CPU: there silence is no stall.
 */
export function attemptWatch(forwarding: Forwarding, firstMs: number, clientDeadline: number): Watch {
  const { shared, call, grant, taken, missed } = forwarding;
  const { clock } = shared.options;
  const stallMs = grant.placement === 'cpu' ? Number.POSITIVE_INFINITY : call.settings.stallMs;
  const isReading = () => taken.prompts.tokens > 0;
  const limits = { stallMs, isReading, firstMs, clientDeadline };
  const deadlines = watch({ clock, alarms: shared.alarms, ...limits, missed });
  return taken.liveness.follow(deadlines, () => missed('frozen'));
}

/** Moves the first-token deadline on with the prompt's progress; `estimate`: its tokens, where it is not told. */
export function progressTo(
  forwarding: Forwarding,
  deadlines: Watch,
  prompt: ReadPrompt,
  estimate: number,
): (data: string) => void {
  return (data) => deadlines.expectFirst(budget(forwarding, prompt, tokensLeft(data) ?? estimate));
}

/**
 * Its deadlines run from here on. `transcript`: gets what is passed on of a text that could be continued; null: it
 * is not to be.
 */
export function prepare(forwarding: Forwarding, transcript: Transcript | null): Attempt {
  const { call, taken, streams, answer } = forwarding;
  const { protocol, fields, body } = call;
  const estimate = body.length / BYTES_PER_TOKEN;
  const clientDeadline = call.receivedAt + (call.deadlineMs ?? Number.POSITIVE_INFINITY);
  const prompt = readPrompt(taken.prompts, fields.textBytes / BYTES_PER_TOKEN);
  const deadlines = attemptWatch(forwarding, budget(forwarding, prompt, estimate), clientDeadline);
  const progress = streams && protocol.progress && fields.progressFree;
  return newAttempt({
    lane: taken.lane,
    path: call.path,
    body: progress ? askForProgress(body) : body,
    receive: receiverFor({
      answer,
      judge: protocol.judge,
      ending: protocol.ending,
      rename: renameModel(taken.model, fields.model),
      onProgress: progress ? progressTo(forwarding, deadlines, prompt, estimate) : null,
      transcript,
    }),
    full: answer.full,
    watch: prompt.until(deadlines),
    onBegin: forwarding.begun,
    onEnd: forwarding.ended,
  });
}

/** Milliseconds until the first content of an answer, where so many tokens of its prompt are to be read. */
export function budget(
  { shared, call, streams, grant }: Forwarding,
  prompt: ReadPrompt,
  promptTokens: number,
): number {
  const wholeText = !streams && call.protocol.generates;
  return firstContentMs({
    setting: call.settings.firstToken,
    placement: grant.placement,
    speed: shared.options.speedOf(grant.instance),
    promptTokens,
    aheadTokens: prompt.ahead(),
    tokens: wholeText ? (call.fields.maxTokens ?? UNLIMITED_TOKENS) : 0,
  });
}

/** Prompt tokens that are still to be read, from llama-server's `prompt_progress`. */
function tokensLeft(data: string): number | null {
  const progress = parseObject(data)?.['prompt_progress'];
  if (typeof progress !== 'object' || progress === null) return null;
  const { total, processed } = progress as { readonly total?: unknown; readonly processed?: unknown };
  return typeof total === 'number' && typeof processed === 'number' ? total - processed : null;
}
