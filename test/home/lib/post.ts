import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

/**
 * Posts JSON and waits as long as the other side is alive: `fetch` gives up after five minutes without a head,
 * and a software GPU on a busy machine compiles for longer.
 * @throws an Error with the answer's text where its status is not 200
 */
export async function post(url: string, body: unknown): Promise<string> {
  const sending = request(url, { method: 'POST', headers: { 'content-type': 'application/json' } });
  sending.end(JSON.stringify(body));
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text}`);
  return text;
}
