/** The chat box: a conversation kept in this tab alone. */
import { signal } from '@preact/signals';
import { type Answer, endAnswer, newAnswer, reduceAnswer } from '../logic/chat.ts';
import { type KeyAsked, keyAskedBy, keyHeader } from '../logic/key.ts';
import { parseSse } from '../logic/sse.ts';
import { errorOfResponse, ownWords } from '../logic/told-error.ts';
import { text } from './app.ts';

export interface Turn {
  readonly id: number;
  readonly model: string;
  readonly question: string;
  /** Sent as `X-Request-Id`, so that the request's phase is found in the server's state. */
  readonly requestId: string;
  readonly answer: Answer;
}

export const turns = signal<readonly Turn[]>([]);
export const draft = signal('');
export const chatModel = signal('');
/** Null: no key is asked for. */
export const keyAsked = signal<KeyAsked | null>(null);

/** For the models' API, where keys are set. Lives as long as the page, and nowhere else. */
let apiKey = '';
let running: AbortController | null = null;
let nextId = 1;

export function clearChat(): void {
  stopAnswer();
  turns.value = [];
}

export function stopAnswer(): void {
  running?.abort();
}

/** Sends the question again that no key, or a wrong one, came with. */
export async function askWithKey(model: string, key: string): Promise<void> {
  apiKey = key.trim();
  await ask(model);
}

/** Sends the draft with the conversation before it, and streams the answer. */
export async function ask(model: string): Promise<void> {
  const question = draft.value.trim();
  if (question === '' || running !== null) return;
  draft.value = '';
  const before = turns.value.filter((turn) => turn.answer.text !== '');
  const messages = before.flatMap((turn) => [
    { role: 'user', content: turn.question },
    { role: 'assistant', content: turn.answer.text },
  ]);
  messages.push({ role: 'user', content: question });
  const turn: Turn = {
    id: nextId++,
    model,
    question,
    requestId: newRequestId(),
    answer: newAnswer(Date.now()),
  };
  turns.value = [...turns.value, turn];
  const mine = new AbortController();
  running = mine;
  try {
    const asked = await stream(turn, messages, mine);
    keyAsked.value = asked;
    if (asked === null) change(turn.id, endAnswer);
    else takeBack(turn);
  } catch {
    const reason = mine.signal.aborted ? null : ownWords(text.value.chat.unreachable);
    change(turn.id, (answer) => ({
      ...answer,
      state: reason === null ? 'stopped' : 'failed',
      error: reason,
    }));
  } finally {
    running = null;
  }
}

/** A question that was turned away at the door is as if it had not been sent. */
function takeBack(turn: Turn): void {
  turns.value = turns.value.filter((one) => one.id !== turn.id);
  if (draft.value === '') draft.value = turn.question;
}

/** Resolves at the end of the answer; with what is asked for where it was refused for want of a key. */
async function stream(
  turn: Turn,
  messages: readonly object[],
  mine: AbortController,
): Promise<KeyAsked | null> {
  const response = await fetch('v1/chat/completions', {
    method: 'POST',
    signal: mine.signal,
    headers: {
      'content-type': 'application/json',
      'x-request-id': turn.requestId,
      ...keyHeader(apiKey),
    },
    body: JSON.stringify({ model: turn.model, messages, stream: true }),
  });
  const placement = response.headers.get('llamastead-placement');
  const attempt = Number(response.headers.get('llamastead-attempts') ?? '1');
  change(turn.id, (answer) => ({ ...answer, placement, attempt }));
  if (!response.ok || response.body === null) {
    const error = await errorOfResponse(response);
    const asked = keyAskedBy(response.status, error, response.headers.get('retry-after'), apiKey !== '');
    if (asked === null) change(turn.id, (answer) => ({ ...answer, state: 'failed', error }));
    return asked;
  }
  keyAsked.value = null;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    const chunk = parseSse(rest + decoder.decode(value, { stream: true }));
    rest = chunk.rest;
    const now = Date.now();
    change(turn.id, (answer) =>
      chunk.items.reduce((folded, item) => reduceAnswer(folded, item, now), answer),
    );
  }
}

function change(id: number, how: (answer: Answer) => Answer): void {
  turns.value = turns.value.map((turn) => (turn.id === id ? { ...turn, answer: how(turn.answer) } : turn));
}

/** `crypto.randomUUID` does not exist on plain HTTP; random values do. */
function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
