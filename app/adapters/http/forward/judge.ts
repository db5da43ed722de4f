/** Judges of single stream events, one for each kind of path. */
import { eventData } from './sse.ts';

/**
 * What one event of a stream means. `content`: text that could be continued; `more`: reasoning, a tool
 * call, or content of a path without resume; `finish`: the model is done; `end`: the protocol's end mark;
 * `progress`: prompt progress; `other`: nothing that a person would see.
 */
export type EventKind = 'content' | 'more' | 'finish' | 'end' | 'error' | 'progress' | 'other';

/** A JSON object of which nothing is known. */
export type Json = Readonly<Record<string, unknown>>;

/** An event of /v1/chat/completions. */
export function judgeChat(bytes: Buffer, start: number, end: number): EventKind {
  return judgeData(bytes, start, end, (choice) => {
    if (filled(choice['finish_reason'])) return 'finish';
    const delta = object(choice['delta']);
    if (delta === null) return 'other';
    const more =
      filled(delta['reasoning_content']) || filled(delta['tool_calls']) || filled(delta['refusal']);
    if (more) return 'more';
    return filled(delta['content']) ? 'content' : 'other';
  });
}

/** An event of /v1/completions. */
export function judgeCompletion(bytes: Buffer, start: number, end: number): EventKind {
  return judgeData(bytes, start, end, (choice) => {
    if (filled(choice['finish_reason'])) return 'finish';
    return filled(choice['text']) ? 'more' : 'other';
  });
}

function judgeData(
  bytes: Buffer,
  start: number,
  end: number,
  judgeChoice: (choice: Json) => EventKind,
): EventKind {
  const data = eventData(bytes.toString('utf8', start, end));
  if (data === null) return 'other';
  if (data === '[DONE]') return 'end';
  const event = parseObject(data);
  if (event === null) return 'other';
  if (filled(event['error'])) return 'error';
  const choices = Array.isArray(event['choices']) ? event['choices'] : [];
  let kind: EventKind = 'other';
  for (const each of choices) {
    const choice = object(each);
    const judged = choice === null ? 'other' : judgeChoice(choice);
    if (judged !== 'other') kind = judged;
  }
  return kind === 'other' && filled(event['prompt_progress']) ? 'progress' : kind;
}

/** What the named events of a path mean; a name that is not listed is `other`. */
export type NamedEvents = (name: string, event: () => string) => EventKind;

/** A judge for streams whose events have an `event:` field. */
export function judgeByName(judge: NamedEvents): (bytes: Buffer, start: number, end: number) => EventKind {
  return (bytes, start, end) => {
    const head = bytes.toString('latin1', start, Math.min(end, start + 80));
    const name = /^event: ?([^\r\n]*)/.exec(head)?.[1];
    if (name !== undefined) return judge(name, () => bytes.toString('utf8', start, end));
    const data = eventData(bytes.toString('utf8', start, end));
    const event = data === null ? null : parseObject(data);
    return event !== null && filled(event['error']) ? 'error' : 'other';
  };
}

/** Events of /v1/responses (OpenAI's Responses API). */
export const RESPONSES_EVENTS: NamedEvents = (name, event) => {
  if (name === 'response.completed' || name === 'response.incomplete') return 'end';
  if (name === 'error' || name === 'response.failed') return 'error';
  if (name.endsWith('.delta')) return 'more';
  if (name !== 'response.output_item.added') return 'other';
  return event().includes('"type":"function_call"') ? 'more' : 'other';
};

/** Events of /v1/messages (Anthropic's Messages API). */
export const MESSAGES_EVENTS: NamedEvents = (name, event) => {
  if (name === 'content_block_delta') return 'more';
  if (name === 'message_delta') return 'finish';
  if (name === 'message_stop') return 'end';
  if (name === 'error') return 'error';
  if (name !== 'content_block_start') return 'other';
  return event().includes('"type":"tool_use"') ? 'more' : 'other';
};

/** Parses a JSON object; null where it is none. */
export function parseObject(text: string): Json | null {
  try {
    return object(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The value where it is an object, else null. */
export function object(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

/** Neither null, nor an empty text or list. */
function filled(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}
