/** The chat box: a conversation kept in this tab alone. */
import { signal } from '@preact/signals';
import { type Answer, endAnswer, errorMessage, newAnswer, reduceAnswer } from '../logic/chat.ts';
import { parseSse } from '../logic/sse.ts';
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

let running: AbortController | null = null;
let nextId = 1;

export function clearChat(): void {
  stopAnswer();
  turns.value = [];
}

export function stopAnswer(): void {
  running?.abort();
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
    await stream(turn, messages, mine);
    change(turn.id, endAnswer);
  } catch {
    const reason = mine.signal.aborted ? null : text.value.chat.unreachable;
    change(turn.id, (answer) => ({
      ...answer,
      state: reason === null ? 'stopped' : 'failed',
      error: reason,
    }));
  } finally {
    running = null;
  }
}

async function stream(turn: Turn, messages: readonly object[], mine: AbortController): Promise<void> {
  const response = await fetch('v1/chat/completions', {
    method: 'POST',
    signal: mine.signal,
    headers: { 'content-type': 'application/json', 'x-request-id': turn.requestId },
    body: JSON.stringify({ model: turn.model, messages, stream: true }),
  });
  const placement = response.headers.get('llamastead-placement');
  const attempt = Number(response.headers.get('llamastead-attempts') ?? '1');
  change(turn.id, (answer) => ({ ...answer, placement, attempt }));
  if (!response.ok || response.body === null) {
    const message = errorMessage(await response.json().catch(() => null)) ?? `HTTP ${response.status}`;
    change(turn.id, (answer) => ({ ...answer, state: 'failed', error: message }));
    return;
  }
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
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
