/** Which requests ask for nothing but plain text: only those can be continued by another instance. */
import { type Json, object } from '../judge.ts';

/** Keys that must be absent, null, empty or false. */
const UNWANTED = [
  ...['tools', 'functions', 'grammar', 'json_schema', 'logprobs', 'top_logprobs', 'n_probs', 'echo'],
];

/**
 * Whether the body asks for one plain text: no tools, grammar, schema, probabilities or echo, and a last message
 * after which llama-server begins a new one, or continues the client's own.
 */
export function asksForPlainText(body: Json): boolean {
  if (UNWANTED.some((key) => isSet(body[key]))) return false;
  if ((body['n'] ?? 1) !== 1) return false;
  const format = body['response_format'] ?? null;
  if (format !== null && object(format)?.['type'] !== 'text') return false;
  const last = lastMessage(body);
  return last !== null && endsPlainly(body, last);
}

/** The last of `messages`; null: there is none. */
export function lastMessage(body: Json): Json | null {
  const messages = body['messages'];
  return Array.isArray(messages) ? object(messages.at(-1)) : null;
}

function endsPlainly(body: Json, last: Json): boolean {
  const begins = body['add_generation_prompt'] ?? null;
  const continues = body['continue_final_message'] ?? null;
  if (last['role'] !== 'assistant') return begins !== false && continues === null;
  if (isSet(last['tool_calls']) || isSet(last['reasoning_content'])) return false;
  return (begins === null && continues === null) || (begins === false && continues === true);
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}
