/** A client that sees bytes: what the server sent, how the connection ended, and pauses when it likes. */
import { once } from 'node:events';
import http, { type IncomingHttpHeaders } from 'node:http';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body so far. */
  bytes(): Buffer;
  text(): string;
  /** Resolves when the body so far contains `text`. */
  until(text: string): Promise<void>;
  /** Resolves at the end: `whole`, or `cut` where HTTP's framing was broken. */
  readonly end: Promise<'whole' | 'cut'>;
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  leave(): void;
}

export interface Sent {
  readonly reply: Promise<Reply>;
  /** Closes the connection, also before a reply. */
  leave(): void;
}

/** Posts on a connection of its own unless `agent` is given. */
export function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  agent: http.Agent | false = false,
): Sent {
  const payload =
    typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
  const request = http.request(url, {
    method: 'POST',
    agent,
    headers: { 'content-type': 'application/json', 'content-length': payload.length, ...headers },
  });
  const reply = reading(request);
  reply.catch(() => {});
  request.end(payload);
  return { reply, leave: () => void request.destroy() };
}

/** Gets a path. */
export async function get(url: string, headers: Record<string, string> = {}): Promise<Reply> {
  const request = http.request(url, { agent: false, headers });
  const reply = reading(request);
  request.end();
  const got = await reply;
  await got.end;
  return got;
}

async function reading(request: http.ClientRequest): Promise<Reply> {
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const chunks: Buffer[] = [];
  const wanted: { readonly text: string; readonly found: () => void }[] = [];
  const text = () => Buffer.concat(chunks).toString('utf8');
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    for (const want of wanted) if (text().includes(want.text)) want.found();
  });
  response.on('error', () => {});
  request.on('error', () => {});
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes: () => Buffer.concat(chunks),
    text,
    until(wantedText) {
      if (text().includes(wantedText)) return Promise.resolve();
      return new Promise((found) => wanted.push({ text: wantedText, found }));
    },
    end: new Promise((resolve) => {
      response.once('close', () => resolve(response.complete ? 'whole' : 'cut'));
    }),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    leave: () => void request.destroy(),
  };
}

/** Posts and takes the whole answer. */
export async function ask(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply & { readonly how: 'whole' | 'cut' }> {
  const reply = await post(url, body, headers).reply;
  const how = await reply.end;
  return { ...reply, how };
}
