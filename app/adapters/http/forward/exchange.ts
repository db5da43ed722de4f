/**
 * One request from its body to its end: asks the gate, forwards when granted, reports how it ended, obeys
 * what comes next. All policy is on the other side of the gate.
 */
import type { ServerResponse } from 'node:http';
import type { Effect } from '../../../core/effects.ts';
import type { Outcome, RequestId } from '../../../core/request.ts';
import { ownError } from '../errors.ts';
import type { Alarms } from './alarms.ts';
import { answerTo, type KeptError } from './answer.ts';
import { type Attempt, type AttemptEnd, startAttempt } from './attempt.ts';
import { askForProgress, type BodyFields } from './body.ts';
import { firstContentMs, type Speeds } from './budget.ts';
import type { Connections, Lane } from './connections.ts';
import { parseObject } from './judge.ts';
import { keepalive } from './keepalive.ts';
import type { ForwardSettings, ModelApiOptions, RequestMeasurement } from './options.ts';
import type { Protocol } from './protocols.ts';
import { renameModel } from './rename.ts';
import type { Timings } from './timings.ts';
import { type Missed, watch } from './watch.ts';

/** What all requests of one model API have in common. */
export interface Shared {
  readonly options: ModelApiOptions;
  readonly connections: Connections;
  readonly alarms: Alarms;
  readonly speeds: Speeds;
}

/** A request whose body is read. */
export interface Call {
  readonly id: RequestId;
  readonly requestId: string;
  readonly path: string;
  readonly protocol: Protocol;
  readonly body: Buffer;
  readonly fields: BodyFields;
  readonly neverReplay: boolean;
  /** The client's own deadline, ms from `receivedAt`; null: none. */
  readonly deadlineMs: number | null;
  readonly receivedAt: number;
  readonly settings: ForwardSettings;
  readonly res: ServerResponse;
}

type Grant = Extract<Effect, { type: 'grant' }>;

/** Bytes of JSON that make a token, at least: an estimate that is rather too high. */
const BYTES_PER_TOKEN = 3;
/** Tokens that a whole answer may have where the client names no limit. */
const UNLIMITED_TOKENS = 4096;

/** Runs the request; returns at once. */
export function exchange(shared: Shared, call: Call): void {
  const { gate, clock, metrics } = shared.options;
  const { id, protocol, fields, settings } = call;
  let grant: Grant | null = null;
  let model: string | null = null;
  let attempt: Attempt | null = null;
  let kept: KeptError | null = null;
  let grantedAt = 0;
  let backendMs: number | null = null;
  let over = false;
  const promptTokens = call.body.length / BYTES_PER_TOKEN;
  const streams = fields.stream && protocol.judge !== null;

  const answer = answerTo(call.res, protocol, facts, () => attempt?.resume());
  const stopKeepalive = streams
    ? keepalive(clock, settings.keepaliveMs, () => answer.comment('keepalive'))
    : () => {};

  function facts() {
    return {
      requestId: call.requestId,
      model,
      placement: grant?.placement ?? null,
      attempts: grant?.attempt ?? 0,
      queuedMs: grant?.queuedMs ?? clock.now().mono - call.receivedAt,
      backendMs,
    };
  }

  /** The one end of the request; false where it has ended before. */
  function finish(outcome: RequestMeasurement['outcome']): boolean {
    if (over) return false;
    over = true;
    attempt = null;
    stopKeepalive();
    const { model: known, placement, attempts, queuedMs } = facts();
    metrics.request({
      model: known ?? fields.model ?? '',
      placement: placement ?? 'none',
      outcome,
      attempts,
      queuedMs,
    });
    return true;
  }

  function clientGone(): void {
    const running = attempt;
    const finished = running?.finished() ?? false;
    if (!finish(finished ? 'completed' : 'client_gone')) return;
    running?.cancel();
    if (running === null) gate.abandoned(id);
    else gate.attemptEnded(id, { kind: 'client_gone', finished });
  }

  function refuse(code: string, message: string, retryAfter: number | null): void {
    if (!finish('failed')) return;
    const replayed = (grant?.attempt ?? 0) > 1;
    answer.fail(ownError(code, message, call.requestId, { retryAfter, replayed }));
  }

  function missed(what: Missed): void {
    if (what === 'reader') call.res.destroy();
    else if (what !== 'client_deadline') attempt?.miss(what);
    else {
      const running = attempt;
      refuse('deadline', `No content within the deadline of ${call.deadlineMs ?? 0} ms.`, null);
      running?.cancel();
      gate.attemptEnded(id, { kind: 'client_gone', finished: false });
    }
  }

  function ended(end: AttemptEnd): void {
    attempt = null;
    if (end.kind === 'completed') {
      measure(end.timings);
      finish('completed');
      gate.attemptEnded(id, { kind: 'completed' });
      return;
    }
    kept = end.kept;
    backendMs = null;
    const outcome: Outcome = { kind: 'failed', failure: end.failure, forwarded: end.forwarded };
    gate.attemptEnded(id, outcome);
  }

  function measure(timings: Timings | null): void {
    if (grant === null || model === null) return;
    const measurement = {
      model,
      placement: grant.placement,
      firstTokenMs: streams ? backendMs : null,
      promptTokens: timings?.promptTokens ?? null,
      promptMs: timings?.promptMs ?? null,
      tokens: timings?.tokens ?? null,
      tokensMs: timings?.tokensMs ?? null,
    };
    if (timings !== null) shared.speeds.learn(measurement);
    metrics.attempt(measurement);
  }

  function forward(granted: Grant, lane: Lane): Attempt {
    const clientDeadline =
      call.deadlineMs === null ? Number.POSITIVE_INFINITY : call.receivedAt + call.deadlineMs;
    const deadlines = watch({
      clock,
      alarms: shared.alarms,
      stallMs: settings.stallMs,
      firstMs: budget(granted, lane.model, promptTokens),
      clientDeadline,
      missed,
    });
    const withProgress = streams && protocol.progress && fields.progressFree;
    return startAttempt({
      lane,
      path: call.path,
      body: withProgress ? askForProgress(call.body) : call.body,
      stream: streams,
      protocol,
      answer,
      rename: renameModel(lane.model, fields.model),
      onProgress: withProgress
        ? (data) => deadlines.expectFirst(budget(granted, lane.model, tokensLeft(data) ?? promptTokens))
        : null,
      watch: deadlines,
      onBegin() {
        backendMs = clock.now().mono - grantedAt;
        stopKeepalive();
      },
      onEnd: ended,
    });
  }

  function budget(granted: Grant, name: string, toRead: number): number {
    return firstContentMs({
      setting: settings.firstToken,
      placement: granted.placement,
      speed: shared.speeds.of(name, granted.placement),
      promptTokens: toRead,
      tokens: streams || !protocol.generates ? 0 : (fields.maxTokens ?? UNLIMITED_TOKENS),
    });
  }

  call.res.on('close', clientGone);
  gate.request(
    {
      id,
      externalId: call.requestId,
      model: fields.model,
      path: call.path,
      stream: fields.stream,
      neverReplay: call.neverReplay,
      deadlineMs: call.deadlineMs,
    },
    {
      granted(granted) {
        if (over) return;
        grant = granted;
        kept = null;
        grantedAt = clock.now().mono;
        const lane = shared.connections.take(granted.instance, granted.freshConnection);
        if (lane === undefined) {
          gate.attemptEnded(id, { kind: 'failed', failure: { kind: 'refused' }, forwarded: 'nothing' });
          return;
        }
        model = lane.model;
        if (answer.headSent() && granted.attempt > 1) answer.comment(changedPlacement(granted));
        attempt = forward(granted, lane);
      },
      refused({ code, message, retryAfter }) {
        const running = attempt;
        refuse(code, message, retryAfter);
        running?.cancel();
      },
      passOn() {
        const error = kept;
        if (!finish('failed')) return;
        if (error !== null) answer.pass(error);
        else answer.fail(ownError('backend_failed', 'The instance gave no answer.', call.requestId));
      },
    },
  );
}

function changedPlacement({ attempt, placement, reason }: Grant): string {
  const why = reason === null ? '' : ` reason=${reason.replaceAll(/[^\w-]/g, '_')}`;
  return `llamastead attempt=${attempt} placement=${placement}${why}`;
}

/** Prompt tokens that are still to be read, from llama-server's `prompt_progress`. */
function tokensLeft(data: string): number | null {
  const progress = parseObject(data)?.['prompt_progress'];
  if (typeof progress !== 'object' || progress === null) return null;
  const { total, processed } = progress as { readonly total?: unknown; readonly processed?: unknown };
  return typeof total === 'number' && typeof processed === 'number' ? total - processed : null;
}
