/** A client of our own address, over real HTTP, that notes what any client would see. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { DRILL_HEADER } from '../../core/drill.ts';
import type { Placement } from '../../core/types.ts';
import type { Clock } from '../../ports.ts';
import { type AnswerEnd, type AnswerReader, answerReader, type SeenAnswer } from './answer.ts';

/** One answer as its client saw it; times in ms from sending the request. */
export interface SeenByClient extends Omit<SeenAnswer, 'end'> {
  readonly id: string;
  readonly end: AnswerEnd;
  readonly status: number | null;
  readonly idBack: string | null;
  readonly placement: Placement | null;
  readonly attempts: number | null;
  readonly firstContentMs: number | null;
  readonly endMs: number;
}

export interface Sending {
  readonly id: string;
  /** Resolves when this many pieces of content came, or the answer ended. */
  content(pieces: number): Promise<void>;
  /** Resolves when the answer ended, however. */
  readonly done: Promise<SeenByClient>;
  /** The client leaves. */
  leave(): void;
}

export interface SendOptions {
  readonly id: string;
  readonly body: string;
  readonly stream: boolean;
  /** Marks the request as the running drill's own. */
  readonly mark: string;
  /** No answer within this (ms) is `late`. */
  readonly limitMs: number;
}

export type Send = (options: SendOptions) => Sending;

export interface ClientParts {
  readonly url: () => string;
  /** One of the keys of the model API; null: it is open. */
  readonly key: () => string | null;
  readonly clock: Clock;
}

export function drillClient({ url, key, clock }: ClientParts): Send {
  return ({ id, body, stream, mark, limitMs }) => {
    const token = key();
    const sent = request(new URL('/v1/chat/completions', url()), {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-request-id': id,
        [DRILL_HEADER]: mark,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
    });
    const sending = follow(sent, { id, stream, clock, limitMs });
    sent.end(body);
    return sending;
  };
}

interface Followed {
  readonly id: string;
  readonly stream: boolean;
  readonly clock: Clock;
  readonly limitMs: number;
}

function follow(sent: ClientRequest, { id, stream, clock, limitMs }: Followed): Sending {
  const began = clock.now().mono;
  const { promise, resolve } = Promise.withResolvers<SeenByClient>();
  const waiting = new Set<{ readonly pieces: number; readonly wake: () => void }>();
  let response: IncomingMessage | null = null;
  let reader: AnswerReader | null = null;
  let firstContentMs: number | null = null;
  let over = false;

  const elapsed = (): number => clock.now().mono - began;
  const wake = (pieces: number): void => {
    for (const each of waiting) {
      if (each.pieces > pieces) continue;
      waiting.delete(each);
      each.wake();
    }
  };
  const end = (how: 'ended' | 'cut' | 'left' | 'late'): void => {
    if (over) return;
    over = true;
    disarm();
    const seen = (reader ?? answerReader(0, false)).seen(how === 'ended');
    const headers = response?.headers ?? {};
    const attempts = Number(headers['llamastead-attempts'] ?? Number.NaN);
    resolve({
      ...seen,
      id,
      end: how === 'left' || how === 'late' ? how : seen.end,
      status: response?.statusCode ?? null,
      idBack: text(headers['x-request-id']),
      placement: text(headers['llamastead-placement']) as Placement | null,
      attempts: Number.isNaN(attempts) ? null : Math.max(attempts, seen.attempt ?? 0),
      firstContentMs,
      endMs: elapsed(),
    });
    wake(Number.POSITIVE_INFINITY);
    sent.destroy();
  };
  const disarm = clock.at(began + limitMs, () => end('late'));

  sent.on('error', () => end('cut'));
  sent.on('response', (answer) => {
    response = answer;
    reader = answerReader(answer.statusCode ?? 0, stream);
    answer.setEncoding('utf8');
    answer.on('data', (piece: string) => {
      if (reader?.take(piece) !== true) return;
      firstContentMs ??= elapsed();
      wake(reader.seen(false).pieces);
    });
    answer.on('end', () => end('ended'));
    answer.on('error', () => end('cut'));
    answer.on('close', () => end('cut'));
  });

  return {
    id,
    done: promise,
    leave: () => end('left'),
    content: (pieces) =>
      new Promise((wakeUp) => {
        if (over || (reader?.seen(false).pieces ?? 0) >= pieces) wakeUp();
        else waiting.add({ pieces, wake: wakeUp });
      }),
  };
}

function text(value: string | string[] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
