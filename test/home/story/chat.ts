import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';

/** What came of one streamed chat. */
export interface Told {
  status: number;
  placement: string;
  attempts: string;
  requestId: string;
  text: string;
  /** Milliseconds until the first content, and until the end. */
  firstMs: number;
  totalMs: number;
}

const Chunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }) })),
});

/** Asks as any client of the OpenAI API does. Throws with the answer's text where it is an error. */
export async function chat(url: string, requestId: string, question: string): Promise<Told> {
  const start = performance.now();
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': requestId },
    body: JSON.stringify({
      model: 'chat',
      stream: true,
      max_tokens: 12,
      // The bench's GPU reads some four tokens a second; the template's own system message has over twenty.
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: question },
      ],
    }),
  });
  if (!answer.ok || answer.body === null) throw new Error(`${answer.status}: ${await answer.text()}`);
  let firstAt: number | null = null;
  const text = await contentOf(answer.body, () => {
    firstAt ??= performance.now();
  });
  return {
    status: answer.status,
    // A head that has to go out while the request still waits cannot name it.
    placement: answer.headers.get('llamastead-placement') ?? 'told too early',
    attempts: answer.headers.get('llamastead-attempts') ?? '?',
    requestId: answer.headers.get('x-request-id') ?? '?',
    text,
    firstMs: (firstAt ?? performance.now()) - start,
    totalMs: performance.now() - start,
  };
}

async function contentOf(body: NonNullable<Response['body']>, onContent: () => void): Promise<string> {
  let text = '';
  for await (const line of createInterface(Readable.fromWeb(body))) {
    if (!line.startsWith('data: {')) continue;
    const content = Chunk.parse(JSON.parse(line.slice('data: '.length))).choices[0]?.delta.content ?? '';
    if (content !== '') onContent();
    text += content;
  }
  return text;
}
