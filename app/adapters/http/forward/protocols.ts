/**
 * The one table of model paths: what a path's streams look like (first content, end mark, finish, error)
 * and how an error is said in it.
 */
import { errorObject, type OwnError } from '../errors.ts';
import type { Ending } from './answer-length.ts';
import {
  type EventKind,
  judgeByName,
  judgeChat,
  judgeCompletion,
  MESSAGES_EVENTS,
  RESPONSES_EVENTS,
} from './judge.ts';

export interface Protocol {
  /** Judges the event at `[start, end)`; null: the path has no streams. */
  readonly judge: ((bytes: Buffer, start: number, end: number) => EventKind) | null;
  /** Understands `return_progress`, whose events come before the first content. */
  readonly progress: boolean;
  /** A text that was cut can be continued by another instance: only where that is proven. */
  readonly resumes: boolean;
  /** The field that tells why an answer ended; null: `/v1/responses` calls a cut answer completed. */
  readonly ending: Ending | null;
  /** Generates text, so a whole answer takes its time. */
  readonly generates: boolean;
  /** Body of an error answer. */
  readonly errorBody: (error: OwnError) => string;
  /** An error as an event in the stream. */
  readonly errorEvent: (error: OwnError) => string;
  /** A backend's own error body (JSON on one line) as an event in the stream. */
  readonly wrapError: (body: string) => string;
}

const openai = {
  errorBody: (error: OwnError) => JSON.stringify({ error: errorObject(error) }),
  errorEvent: (error: OwnError) => `data: ${JSON.stringify({ error: errorObject(error) })}\n\n`,
  wrapError: (body: string) => `data: ${body}\n\n`,
};

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

function anthropicError(error: OwnError): string {
  const type = error.overflow === null ? (ANTHROPIC_TYPES[error.status] ?? 'api_error') : error.type;
  return JSON.stringify({
    type: 'error',
    error: { ...errorObject(error), type },
    request_id: error.requestId,
  });
}

const anthropic = {
  errorBody: anthropicError,
  errorEvent: (error: OwnError) => `event: error\ndata: ${anthropicError(error)}\n\n`,
  wrapError: (body: string) => `event: error\ndata: ${body}\n\n`,
};

const responses = {
  errorBody: openai.errorBody,
  errorEvent: (error: OwnError) =>
    `event: error\ndata: ${JSON.stringify({
      type: 'error',
      code: error.code,
      message: error.message,
      param: null,
      error: errorObject(error),
    })}\n\n`,
  wrapError: (body: string) => `event: error\ndata: ${body}\n\n`,
};

const whole = { judge: null, progress: false, resumes: false, ending: null, generates: false, ...openai };
const text = { progress: false, resumes: false, ending: null, generates: true };
const openaiText = { ...openai, ...text, progress: true, ending: 'finish_reason' } as const;

export const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map<string, Protocol>([
  ['/v1/chat/completions', { ...openaiText, judge: judgeChat, resumes: true }],
  ['/v1/completions', { ...openaiText, judge: judgeCompletion }],
  ['/v1/responses', { ...responses, ...text, judge: judgeByName(RESPONSES_EVENTS) }],
  ['/v1/messages', { ...anthropic, ...text, judge: judgeByName(MESSAGES_EVENTS), ending: 'stop_reason' }],
  ['/v1/embeddings', whole],
  ['/v1/rerank', whole],
]);

/** The form for paths that are not in the table. */
export const OPENAI: Protocol = whole;
