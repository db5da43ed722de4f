/**
 * Server-sent events, as the HTML standard defines them, from text that arrives in pieces. Comments are
 * kept: they show that the line is alive, and where an answer went on after a failure.
 */

export type SseItem =
  | {
      readonly kind: 'event';
      readonly event: string;
      readonly data: string;
      /** Null where the event carried no id. */
      readonly id: string | null;
    }
  | { readonly kind: 'comment'; readonly text: string };

export interface SseChunk {
  readonly items: readonly SseItem[];
  /** What is not complete yet; put it in front of the next piece. */
  readonly rest: string;
}

/** Splits off every complete block (up to a blank line). `text` is the last `rest` and the new piece. */
export function parseSse(text: string): SseChunk {
  const items: SseItem[] = [];
  let rest = text;
  for (;;) {
    // A final CR may be half of a CRLF: wait for what follows it.
    const end = /\r\n\r\n|\n\n|\r\r(?=[^\n])/.exec(rest);
    if (end === null) return { items, rest };
    parseBlock(rest.slice(0, end.index), items);
    rest = rest.slice(end.index + end[0].length);
  }
}

function parseBlock(block: string, items: SseItem[]): void {
  let event = 'message';
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (line.startsWith(':')) {
      items.push({ kind: 'comment', text: line.slice(1).trim() });
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
  }
  if (data.length > 0) items.push({ kind: 'event', event, data: data.join('\n'), id });
}
