/** A stream as its events say it, read anew from the raw bytes: nothing here knows the program under test. */

export interface StreamEvent {
  /** From an `event:` line; else empty. */
  readonly name: string;
  readonly data: string;
  readonly comments: readonly string[];
}

/** Server-sent events; `rest`: what follows the last blank line. */
export function readEvents(raw: string): { readonly events: readonly StreamEvent[]; readonly rest: string } {
  const blocks = raw.replaceAll('\r\n', '\n').split('\n\n');
  const rest = blocks.pop() ?? '';
  const events = blocks.map((block) => {
    const lines = block.split('\n');
    const field = (name: string) =>
      lines
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).trimStart());
    return { name: field('event').join(''), data: field('data').join('\n'), comments: field('') };
  });
  return { events, rest };
}

/** What ended a stream: its protocol's end mark, or an error event; null: something that ends nothing. */
export function endOf(path: string, event: StreamEvent): 'done' | 'error' | null {
  if (path === '/v1/messages') {
    if (event.name === 'message_stop') return 'done';
    return event.name === 'error' ? 'error' : null;
  }
  if (path === '/v1/responses') {
    if (event.name === 'response.completed' || event.name === 'response.incomplete') return 'done';
    return event.name === 'error' || event.name === 'response.failed' ? 'error' : null;
  }
  if (event.data === '[DONE]') return 'done';
  return event.data.startsWith('{"error"') ? 'error' : null;
}

/** A chunk of a chat, as far as the checker reads it. */
export interface Chunk {
  readonly id?: string;
  readonly created?: number;
  readonly model?: string;
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  } | null;
  readonly choices?: readonly {
    readonly index: number;
    readonly finish_reason: string | null;
    readonly delta: {
      readonly role?: string;
      readonly content?: string | null;
      readonly tool_calls?: readonly { readonly index: number; readonly id?: string }[];
    };
  }[];
}

/** The chunks of a chat's stream. */
export function chunksOf(events: readonly StreamEvent[]): readonly Chunk[] {
  return events
    .filter(({ data }) => data.startsWith('{') && !data.startsWith('{"error"'))
    .map(({ data }) => JSON.parse(data) as Chunk);
}

/** The text of all content deltas. */
export function textOf(events: readonly StreamEvent[]): string {
  return chunksOf(events)
    .flatMap((chunk) => chunk.choices ?? [])
    .map((choice) => choice.delta.content ?? '')
    .join('');
}
