/** The body of the request that continues a text: the same, with the text as the last message. */
import { type Json, object } from '../judge.ts';
import { lastMessage } from './eligible.ts';

/** llama-server takes the first of these that is given as the limit. */
const LIMITS = ['n_predict', 'max_completion_tokens', 'max_tokens'] as const;

/**
 * `tokens`: what the text takes of the client's limit of tokens. Null: the limit is reached, there is nothing to
 * ask for. A negative limit is none.
 */
export function resumedBody(body: Json, text: string, tokens: number): Json | null {
  const limits: Record<string, number> = {};
  let first = true;
  for (const key of LIMITS) {
    const limit = body[key];
    if (typeof limit !== 'number') continue;
    if (limit >= 0) {
      if (first && limit <= tokens) return null;
      // One that does not count only has to stay valid.
      limits[key] = Math.max(1, limit - tokens);
    }
    first = false;
  }
  return { ...body, ...limits, stream: true, messages: continued(body, text) };
}

function continued(body: Json, text: string): readonly unknown[] {
  const messages = Array.isArray(body['messages']) ? body['messages'] : [];
  const last = lastMessage(body);
  if (last?.['role'] !== 'assistant') return [...messages, { role: 'assistant', content: text }];
  return [...messages.slice(0, -1), { ...last, content: joined(last['content'], text) }];
}

/** llama-server joins the text parts of a message that it continues without anything between them. */
function joined(prefill: unknown, text: string): unknown {
  if (Array.isArray(prefill)) return [...prefill, { type: 'text', text }];
  return typeof prefill === 'string' ? prefill + text : text;
}

/** The client's stop strings. */
export function stopsOf(body: Json): readonly string[] {
  const stop = body['stop'];
  const list = Array.isArray(stop) ? stop : [stop];
  return list.filter((one): one is string => typeof one === 'string' && one !== '');
}

/** `stream_options.include_usage`. */
export function wantsUsage(body: Json): boolean {
  return object(body['stream_options'])?.['include_usage'] === true;
}
