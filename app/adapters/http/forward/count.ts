/** How many tokens a prompt has, as an instance counts them; for requests that wait, so it may take a moment. */
import type { InstanceId } from '../../../core/request.ts';
import type { Clock } from '../../../ports.ts';
import { ask } from './ask.ts';
import type { Connections } from './connections.ts';
import { type Json, parseObject } from './judge.ts';

/** A large prompt takes a busy machine some hundred ms. */
const PATIENCE_MS = 5_000;

type Ask = (path: string, body: Json | Buffer) => Promise<Json | null>;

/** How the tokens of a path's prompt are asked for; a path that is not here cannot be counted. */
const COUNTERS: Readonly<Record<string, (ask: Ask, body: Buffer) => Promise<number | null>>> = {
  '/v1/chat/completions': async (ask, body) => {
    const prompt = (await ask('/apply-template', body))?.['prompt'];
    return typeof prompt === 'string' ? tokenized(ask, prompt) : null;
  },
  '/v1/completions': async (ask, body) => {
    const prompt = parseObject(body.toString('utf8'))?.['prompt'];
    return typeof prompt === 'string' ? tokenized(ask, prompt) : null;
  },
  '/v1/messages': (ask, body) => inputTokens(ask, '/v1/messages/count_tokens', body),
  '/v1/responses': (ask, body) => inputTokens(ask, '/v1/responses/input_tokens', body),
};

export interface Counted {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly instance: InstanceId;
  readonly path: string;
  readonly body: Buffer;
}

/** Null where it cannot be told, or not within 5 s. Never rejects. */
export function countTokens({ connections, clock, instance, path, body }: Counted): Promise<number | null> {
  const counter = COUNTERS[path];
  if (counter === undefined) return Promise.resolve(null);
  return new Promise((settle) => {
    let abort = (): void => {};
    const cancel = clock.at(clock.now().mono + PATIENCE_MS, () => {
      abort();
      settle(null);
    });
    const question: Ask = async (to, what) => {
      const lane = connections.take(instance, false)?.lane;
      if (lane === undefined) return null;
      abort = lane.abort;
      const asked = await ask(lane, to, what);
      return asked.ok ? asked.json : null;
    };
    void counter(question, body).then((tokens) => {
      cancel();
      settle(tokens);
    });
  });
}

/** A path of llama-server that counts the prompt of a request with this body. */
async function inputTokens(ask: Ask, path: string, body: Buffer): Promise<number | null> {
  const tokens = (await ask(path, body))?.['input_tokens'];
  return typeof tokens === 'number' ? tokens : null;
}

/** As the server itself reads a prompt: with its beginning token, and special tokens as such. */
async function tokenized(ask: Ask, content: string): Promise<number | null> {
  const answer = await ask('/tokenize', { content, add_special: true, parse_special: true });
  const tokens = answer?.['tokens'];
  return Array.isArray(tokens) ? tokens.length : null;
}
