/** Asks a llama-server itself for a text that a client already has from it. */
import { request } from 'node:http';
import { readEvents, textOf } from './stream.ts';

export interface Server {
  readonly url: string;
  readonly key: string;
}

/** For one text, by a machine that does nothing else but may be slow. */
const ANSWER_MS = 120_000;

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

/** On a connection of its own: a llama-server closes one after a stream, when the next request may be on its way. */
function post({ url, key }: Server, path: string, body: unknown): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const signal = AbortSignal.timeout(ANSWER_MS);
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method: 'POST', agent: false, headers, signal }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(text);
        else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
      });
    });
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}
