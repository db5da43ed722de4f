/** The events after the seam, told as the first answer's: same id, one role, usage added up. */
import { type Json, object } from '../judge.ts';
import type { Identity } from './transcript.ts';

export interface Seam {
  readonly identity: Identity;
  /** Tokens of the text before it, which the second instance counts to its prompt. */
  readonly tokens: number;
}

export interface Usage {
  readonly promptTokens: number;
  readonly tokens: number;
}

/** An event of the resumed answer as one of the first; null: it tells the client nothing new. */
export function afterSeam(event: Json, { identity, tokens }: Seam): Json | null {
  const told: Record<string, unknown> = { ...event, ...identity };
  const usage = object(event['usage']);
  if (usage !== null) told['usage'] = addedUp(usage, tokens);
  const choices = event['choices'];
  if (!Array.isArray(choices)) return told;
  told['choices'] = choices.map((choice) => withoutRole(object(choice) ?? {}));
  const empty = choices.length > 0 && usage === null && choices.every((choice) => isEmpty(object(choice)));
  return empty ? null : told;
}

/** The same event with another text; it is one that has text. */
export function withContent(event: Json, content: string): Json {
  const [choice] = Array.isArray(event['choices']) ? event['choices'] : [];
  const first = object(choice) ?? {};
  return { ...event, choices: [{ ...first, delta: { ...object(first['delta']), content } }] };
}

/** A content event of our own. */
export function contentEvent(identity: Identity, content: string): Json {
  return { choices: [{ finish_reason: null, index: 0, delta: { content } }], ...identity };
}

/** The end of an answer that no instance ends: the finish, usage where the client wants it, the end mark. */
export function ownEnding(identity: Identity, finish: 'length' | 'stop', usage: Usage | null): string {
  let text = sse({ choices: [{ finish_reason: finish, index: 0, delta: {} }], ...identity });
  if (usage !== null) {
    const { promptTokens, tokens } = usage;
    text += sse({
      choices: [],
      ...identity,
      usage: {
        completion_tokens: tokens,
        prompt_tokens: promptTokens,
        total_tokens: promptTokens + tokens,
      },
    });
  }
  return `${text}data: [DONE]\n\n`;
}

export function sse(event: Json): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function addedUp(usage: Json, tokens: number): Json {
  const prompt = Math.max(0, number(usage['prompt_tokens']) - tokens);
  const completion = number(usage['completion_tokens']) + tokens;
  const told: Record<string, unknown> = { ...usage, prompt_tokens: prompt, completion_tokens: completion };
  told['total_tokens'] = prompt + completion;
  const details = object(usage['prompt_tokens_details']);
  if (details !== null) {
    // The text before the seam may have been in the cache, but it is no prompt of the client's.
    const cached = Math.min(prompt, number(details['cached_tokens']));
    told['prompt_tokens_details'] = { ...details, cached_tokens: cached };
  }
  return told;
}

function withoutRole(choice: Json): Json {
  const delta = object(choice['delta']);
  if (delta === null || !('role' in delta)) return choice;
  const { role: _, ...rest } = delta;
  return { ...choice, delta: rest };
}

function isEmpty(choice: Json | null): boolean {
  const delta = object(choice?.['delta']);
  return (choice?.['finish_reason'] ?? null) === null && (delta?.['content'] ?? '') === '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
