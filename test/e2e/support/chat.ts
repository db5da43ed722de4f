/** Chats as a client sends them. */
import type { Controller } from './controller.ts';

export interface Answer {
  readonly status: number;
  readonly requestId: string | null;
  readonly placement: string | null;
  readonly attempts: string | null;
  readonly text: string;
  /** The stream as it came, or the body. */
  readonly raw: string;
}

export interface ChatOptions {
  readonly model?: string;
  readonly tokens?: number;
  readonly stream?: boolean;
  readonly id?: string;
  readonly headers?: Record<string, string>;
  readonly prompt?: string;
}

export async function chat(controller: Controller, options: ChatOptions = {}): Promise<Answer> {
  const response = await sendChat(controller, options);
  const raw = await response.text();
  return {
    status: response.status,
    requestId: response.headers.get('x-request-id'),
    placement: response.headers.get('llamastead-placement'),
    attempts: response.headers.get('llamastead-attempts'),
    text: options.stream ? streamedText(raw) : raw,
    raw,
  };
}

export function sendChat(controller: Controller, options: ChatOptions = {}): Promise<Response> {
  const { model = 'tiny', tokens = 8, stream = false, id, prompt = 'hello' } = options;
  return controller.post(
    '/v1/chat/completions',
    { model, stream, max_tokens: tokens, ignore_eos: true, messages: [{ role: 'user', content: prompt }] },
    { ...(id === undefined ? {} : { 'x-request-id': id }), ...options.headers },
  );
}

/** The text of all content deltas. */
export function streamedText(raw: string): string {
  let text = '';
  for (const line of raw.split('\n')) {
    if (!line.startsWith('data: {')) continue;
    const { choices } = JSON.parse(line.slice(6)) as { choices?: { delta?: { content?: string | null } }[] };
    text += choices?.[0]?.delta?.content ?? '';
  }
  return text;
}
