/** Makes the attempt of a granted request: what is sent, how long it may take, what is taken out again. */
import type { Effect } from '../../../core/effects.ts';
import type { Answer } from './answer.ts';
import { type Attempt, type AttemptEnd, newAttempt } from './attempt.ts';
import { askForProgress } from './body.ts';
import { firstContentMs } from './budget.ts';
import type { Call, Shared } from './call.ts';
import type { Taken } from './connections.ts';
import { parseObject } from './judge.ts';
import { receiverFor } from './receivers.ts';
import { renameModel } from './rename.ts';
import { type Missed, watch } from './watch.ts';

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
  readonly begun: () => void;
  readonly ended: (end: AttemptEnd) => void;
}

/** Bytes of JSON that make a token, at least: an estimate that is rather too high. */
const BYTES_PER_TOKEN = 3;
/** Tokens that a whole answer may have where the client names no limit. */
const UNLIMITED_TOKENS = 4096;

/** Its deadlines run from here on. */
export function prepare(forwarding: Forwarding): Attempt {
  const { shared, call, taken, streams, answer } = forwarding;
  const { protocol, fields, settings, body } = call;
  const estimate = body.length / BYTES_PER_TOKEN;
  const deadlines = watch({
    clock: shared.options.clock,
    alarms: shared.alarms,
    stallMs: settings.stallMs,
    firstMs: budget(forwarding, estimate),
    clientDeadline: call.receivedAt + (call.deadlineMs ?? Number.POSITIVE_INFINITY),
    missed: forwarding.missed,
  });
  const progress = streams && protocol.progress && fields.progressFree;
  const onProgress = (data: string) =>
    deadlines.expectFirst(budget(forwarding, tokensLeft(data) ?? estimate));
  return newAttempt({
    lane: taken.lane,
    path: call.path,
    body: progress ? askForProgress(body) : body,
    receive: receiverFor({
      answer,
      judge: protocol.judge,
      rename: renameModel(taken.model, fields.model),
      onProgress: progress ? onProgress : null,
    }),
    full: answer.full,
    watch: deadlines,
    onBegin: forwarding.begun,
    onEnd: forwarding.ended,
  });
}

function budget({ shared, call, streams, grant }: Forwarding, promptTokens: number): number {
  const wholeText = !streams && call.protocol.generates;
  return firstContentMs({
    setting: call.settings.firstToken,
    placement: grant.placement,
    speed: shared.options.speedOf(grant.instance),
    promptTokens,
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
