/** Asks a llama-server itself for a text that a client already has from it. */
import { readEvents, textOf } from './stream.ts';

export interface Server {
  readonly url: string;
  readonly key: string;
}

/** For one text, by a machine at rest. */
const ANSWER_MS = 60_000;

/**
 * @param body of the client's chat, which asked for nothing to be read from former prompts
 * @param before the text that is continued; empty: the chat as the client sent it
 * @returns all text that follows it
 * @throws Error with the path, where the server refuses
 */
export async function textAgain(
  server: Server,
  body: Readonly<Record<string, unknown>>,
  before: string,
): Promise<string> {
  if (before === '') return streamed(server, body);
  const { tokens } = JSON.parse(await post(server, '/tokenize', { content: before })) as { tokens: number[] };
  const left = Number(body['max_tokens']) - tokens.length;
  if (left <= 0) return '';
  const messages = [...(body['messages'] as unknown[]), { role: 'assistant', content: before }];
  return streamed(server, { ...body, messages, max_tokens: left });
}

async function streamed(server: Server, body: unknown): Promise<string> {
  return textOf(readEvents(await post(server, '/v1/chat/completions', body)).events);
}

async function post({ url, key }: Server, path: string, body: unknown): Promise<string> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return text;
}
