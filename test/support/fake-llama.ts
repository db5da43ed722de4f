/**
 * A server that speaks as llama-server does: SSE with a role delta first, `timings` in the last chunk, keep-alive
 * announced but closed after a stream, 503 while loading. A test says what each request meets, byte for byte.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One request as the server saw it, and the means to answer it. */
export interface Arrival {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Number of the TCP connection, from 1. */
  readonly connection: number;
  /** Sends status and head. */
  head(status: number, headers?: Record<string, string>): void;
  /** Sends bytes of the body as a chunk of their own; resolves when they are given to the kernel. */
  write(bytes: string | Buffer): Promise<void>;
  end(bytes?: string | Buffer): void;
  /** TCP reset. */
  reset(): void;
  /** FIN in the middle of whatever was sent. */
  hangUp(): void;
  /** Resolves when the peer's connection is closed. */
  readonly closed: Promise<void>;
}

export type Behaviour = (arrival: Arrival) => void | Promise<void>;

export interface FakeLlama {
  readonly port: number;
  readonly arrivals: readonly Arrival[];
  /** What the next requests meet. */
  behave(behaviour: Behaviour): void;
  /** What the next questions for a sign of life meet; they are no arrivals. Default: an answer. */
  beAsked(behaviour: (question: Arrival) => void): void;
  /** Resolves with the n-th request (from 0), also one that is still to come. */
  arrival(n: number): Promise<Arrival>;
  close(): Promise<void>;
}

export async function fakeLlama(behaviour: Behaviour): Promise<FakeLlama> {
  let current = behaviour;
  let asked: (question: Arrival) => void = alive;
  const arrivals: Arrival[] = [];
  const expected: ((arrival: Arrival) => void)[] = [];
  const numbers = new Map<Socket, number>();
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => {});
    req.on('end', () => {
      const arrival = {
        path: req.url ?? '',
        headers: req.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        connection: numbers.get(req.socket) ?? 0,
        ...means(res, req.socket),
      };
      if (arrival.path === '/health') {
        asked(arrival);
        return;
      }
      arrivals.push(arrival);
      expected[arrivals.length - 1]?.(arrival);
      void current(arrival);
    });
  });
  server.on('connection', (socket) => {
    numbers.set(socket, numbers.size + 1);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    behave(next) {
      current = next;
    },
    beAsked(next) {
      asked = next;
    },
    arrival(n) {
      const known = arrivals[n];
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        expected[n] = resolve;
      });
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function alive({ head, end }: Arrival): void {
  head(200, JSON_HEAD);
  end('{"status":"ok"}');
}

function means(res: ServerResponse, socket: Socket) {
  return {
    head(status: number, headers: Record<string, string> = {}) {
      res.writeHead(status, { Server: 'llama.cpp', 'Access-Control-Allow-Origin': '', ...headers });
      res.flushHeaders();
    },
    write: (bytes: string | Buffer) => new Promise<void>((resolve) => res.write(bytes, () => resolve())),
    end(bytes?: string | Buffer) {
      res.end(bytes);
    },
    reset() {
      socket.resetAndDestroy();
    },
    hangUp() {
      socket.destroy();
    },
    closed: new Promise<void>((resolve) => socket.once('close', () => resolve())),
  };
}

const TAIL =
  '"created":1700000000,"id":"chatcmpl-x","model":"chat","system_fingerprint":"b1-fake","object":"chat.completion.chunk"';

/** The events of a chat stream, as llama-server 0.7.0 writes them. */
export const chat = {
  role: `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],${TAIL}}\n\n`,
  progress: (processed: number, total: number) =>
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],${TAIL},"prompt_progress":{"total":${total},"cache":0,"processed":${processed},"time_ms":1}}\n\n`,
  text: (text: string) =>
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":${JSON.stringify(text)}}}],${TAIL}}\n\n`,
  reasoning: (text: string) =>
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"reasoning_content":${JSON.stringify(text)}}}],${TAIL}}\n\n`,
  tool: (name: string) =>
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"${name}","arguments":""}}]}}],${TAIL}}\n\n`,
  finish: `data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}],${TAIL},"timings":{"cache_n":0,"prompt_n":40,"prompt_ms":20.5,"predicted_n":20,"predicted_ms":100.25}}\n\n`,
  done: 'data: [DONE]\n\n',
  error: 'data: {"error":{"code":500,"message":"Compute error.","type":"server_error"}}\n\n',
} as const;

/** A whole chat answer. */
export const WHOLE =
  '{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"Guten Tag \\"model\\":\\"chat\\" 안녕 😀"}}],"created":1700000000,"model":"chat","object":"chat.completion","usage":{"completion_tokens":20,"prompt_tokens":40,"total_tokens":60},"id":"chatcmpl-x","timings":{"cache_n":0,"prompt_n":40,"prompt_ms":20.5,"predicted_n":20,"predicted_ms":100.25}}';

export const JSON_HEAD = { 'Content-Type': 'application/json; charset=utf-8' };
export const SSE_HEAD = { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' };

/** A whole JSON answer with its length, kept alive. */
export function whole(body: string | Buffer = WHOLE, status = 200): Behaviour {
  return ({ head, end }) => {
    head(status, { ...JSON_HEAD, 'Content-Length': String(Buffer.byteLength(body)) });
    end(body);
  };
}

/** llama-server's error answer. */
export function failing(status: number, message: string, type = 'server_error'): Behaviour {
  return whole(JSON.stringify({ error: { code: status, message, type } }), status);
}

/** A stream of these pieces, each sent by itself; then `then`. */
export function stream(
  pieces: readonly (string | Buffer)[],
  then: 'end' | 'reset' | 'hang' = 'end',
): Behaviour {
  return async (arrival) => {
    arrival.head(200, SSE_HEAD);
    for (const piece of pieces) await arrival.write(piece);
    if (then === 'end') arrival.end();
    if (then === 'reset') arrival.reset();
  };
}

/** What an instance that continues texts answers to the questions before; `chats` meets the rest. */
export function continuing(chats: Behaviour, more: Continuing = {}): Behaviour {
  const { open = '<|assistant|>', turn = (text: string) => open + text } = more;
  return (arrival) => {
    if (arrival.path === '/tokenize')
      return answerJson(arrival, { tokens: tokensOf(JSON.parse(arrival.body)) });
    if (arrival.path !== '/apply-template') return chats(arrival);
    const last = (JSON.parse(arrival.body) as { messages: { role: string; content: string }[] }).messages.at(
      -1,
    );
    return answerJson(arrival, { prompt: last?.role === 'assistant' ? turn(last.content) : open });
  };
}

export interface Continuing {
  /** How a prompt ends before the answer. */
  readonly open?: string;
  /** How a prompt ends that continues this text. */
  readonly turn?: (text: string) => string;
}

function answerJson(arrival: Arrival, body: unknown): void {
  void whole(JSON.stringify(body))(arrival);
}

/** A token a word, with the blank before it; `<|...|>` is one where special tokens are read. */
export function tokensOf({ content, parse_special }: { content: string; parse_special: boolean }): string[] {
  return content.match(parse_special ? /<\|.*?\|>|\s*[^\s<]+|[\s<]/g : /\s*[^\s<]+|[\s<]/g) ?? [];
}

export const CHAT_STREAM = [chat.role, chat.text('Guten'), chat.text(' Tag'), chat.finish, chat.done];
export const silent: Behaviour = () => {};
export const resetAtOnce: Behaviour = ({ reset }) => reset();
