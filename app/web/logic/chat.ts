/** An answer of `/v1/chat/completions` as it grows. */
import { asRecord, parseJson } from './json.ts';
import type { SseItem } from './sse.ts';
import { errorOf, type ToldError } from './told-error.ts';

export interface Answer {
  readonly state: 'sending' | 'streaming' | 'done' | 'stopped' | 'failed';
  readonly text: string;
  /** What a reasoning model says to itself. */
  readonly thinking: string;
  /** From the header `Llamastead-Placement`, or the comment of a later attempt; null before the head. */
  readonly placement: string | null;
  readonly attempt: number;
  readonly sentAt: number;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** Pieces of text that came; close to tokens, for when nobody counts them. */
  readonly pieces: number;
  /** As the backend measured it. */
  readonly tokensPerSecond: number | null;
  readonly finish: string | null;
  readonly error: ToldError | null;
}

export function newAnswer(sentAt: number): Answer {
  return {
    state: 'sending',
    text: '',
    thinking: '',
    placement: null,
    attempt: 1,
    sentAt,
    firstAt: null,
    lastAt: null,
    pieces: 0,
    tokensPerSecond: null,
    finish: null,
    error: null,
  };
}

/** Folds one item of the stream. `at`: Unix ms of its arrival. */
export function reduceAnswer(answer: Answer, item: SseItem, at: number): Answer {
  if (item.kind === 'comment') return takeComment(answer, item.text);
  if (item.data === '[DONE]') return { ...answer, state: 'done' };
  const body = asRecord(parseJson(item.data));
  if (body === null) return answer;
  const error = errorOf(body);
  if (error !== null) return { ...answer, state: 'failed', error };
  return takeChunk(answer, body, at);
}

/** The stream is over: without its end mark it is not a whole answer. */
export function endAnswer(answer: Answer): Answer {
  if (answer.state !== 'sending' && answer.state !== 'streaming') return answer;
  return answer.finish === null ? { ...answer, state: 'failed' } : { ...answer, state: 'done' };
}

/** Tokens a second: measured by the backend, else by the pieces; null before there are two. */
export function rateOf(answer: Answer): number | null {
  if (answer.tokensPerSecond !== null) return answer.tokensPerSecond;
  if (answer.firstAt === null || answer.lastAt === null || answer.pieces < 2) return null;
  const seconds = (answer.lastAt - answer.firstAt) / 1000;
  return seconds <= 0 ? null : (answer.pieces - 1) / seconds;
}

/** `llamastead attempt=2 placement=cpu reason=out_of_memory`: the answer goes on elsewhere. */
function takeComment(answer: Answer, text: string): Answer {
  if (!text.startsWith('llamastead ')) return answer;
  const fields = new Map(
    text
      .split(' ')
      .slice(1)
      .map((field) => field.split('=', 2) as [string, string | undefined]),
  );
  return {
    ...answer,
    placement: fields.get('placement') ?? answer.placement,
    attempt: Number(fields.get('attempt') ?? answer.attempt),
  };
}

function takeChunk(answer: Answer, body: Record<string, unknown>, at: number): Answer {
  const choices = body['choices'];
  const choice = asRecord(Array.isArray(choices) ? choices[0] : null);
  const delta = asRecord(choice?.['delta']);
  const content = asText(delta?.['content']);
  const thinking = asText(delta?.['reasoning_content']);
  const finish = choice?.['finish_reason'];
  const rate = asRecord(body['timings'])?.['predicted_per_second'];
  const grew = content !== '' || thinking !== '';
  return {
    ...answer,
    state: 'streaming',
    text: answer.text + content,
    thinking: answer.thinking + thinking,
    pieces: answer.pieces + (grew ? 1 : 0),
    firstAt: grew ? (answer.firstAt ?? at) : answer.firstAt,
    lastAt: grew ? at : answer.lastAt,
    finish: typeof finish === 'string' ? finish : answer.finish,
    tokensPerSecond: typeof rate === 'number' && rate > 0 ? rate : answer.tokensPerSecond,
  };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
