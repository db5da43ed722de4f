/**
 * What a client has of a chat's plain text, so that another instance can go on from there. Kept as the bytes of
 * the JSON strings, since most streams never need it: copying those costs little, parsing each event would not.
 */

import { type Json, object, parseObject } from '../judge.ts';
import { eventData } from '../sse.ts';

/** The fields that every chunk of one answer has in common. */
export type Identity = Json;

export interface Transcript {
  /** A content event that is passed on. */
  event(bytes: Buffer, start: number, end: number): void;
  /** Text that is passed on in an event of our own. */
  add(text: string): void;
  /** The data of a prompt progress event: it tells the prompt's tokens. */
  progress(data: string): void;
  /** All text so far; null: it cannot be told, or is too long to be sent again. */
  text(): string | null;
  readonly now: {
    /** Null: no event was passed on yet. */
    identity: Identity | null;
    /** Of the first answer; null: not told. */
    promptTokens: number | null;
  };
}

/** Longer texts are not continued: each stream may hold so much memory. */
const MOST_BYTES = 1024 * 1024;
const FIRST_BYTES = 1024;
/** llama-server's content events; nlohmann's JSON has no blanks. */
const DELTA = Buffer.from('"delta":{"content":"');
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7d;
const COMMON = ['id', 'created', 'model', 'system_fingerprint', 'object'] as const;

/** `model`: the name that the answer carries; null: the instance's own. */
export function transcript(model: string | null): Transcript {
  const now: Transcript['now'] = { identity: null, promptTokens: null };
  let literal = Buffer.allocUnsafe(FIRST_BYTES);
  let size = 0;
  let broken = false;

  function room(bytes: number): boolean {
    if (size + bytes > MOST_BYTES) broken = true;
    if (broken) return false;
    if (size + bytes > literal.length) {
      const larger = Buffer.allocUnsafe(Math.min(MOST_BYTES, 2 * (size + bytes)));
      literal.copy(larger, 0, 0, size);
      literal = larger;
    }
    return true;
  }

  function add(text: string): void {
    const escaped = Buffer.from(JSON.stringify(text).slice(1, -1));
    if (room(escaped.length)) size += escaped.copy(literal, size);
  }

  function parsed(bytes: Buffer, start: number, end: number): void {
    const event = parseObject(eventData(bytes.toString('utf8', start, end)) ?? '');
    const text = event === null ? null : contentOf(event);
    if (event === null || text === null) {
      broken = true;
      return;
    }
    now.identity ??= identityOf(event, model);
    add(text);
  }

  return {
    event(bytes, start, end) {
      if (broken) return;
      const from = bytes.indexOf(DELTA, start) + DELTA.length;
      const to = stringEnd(bytes, from);
      const plain = now.identity !== null && from > start + DELTA.length && to > 0 && to < end;
      if (!plain || bytes[to + 1] !== BRACE) parsed(bytes, start, end);
      else if (room(to - from)) size += bytes.copy(literal, size, from, to);
    },
    add,
    progress(data) {
      const total = object(parseObject(data)?.['prompt_progress'])?.['total'];
      if (typeof total === 'number') now.promptTokens ??= total;
    },
    text() {
      if (broken) return null;
      try {
        return JSON.parse(`"${literal.toString('utf8', 0, size)}"`) as string;
      } catch {
        return null;
      }
    },
    now,
  };
}

/** Offset of the quote that ends the JSON string whose text begins at `from`; -1: none. */
function stringEnd(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(QUOTE, from);
  while (at >= 0) {
    let before = at - 1;
    while (before >= from && bytes[before] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at;
    at = bytes.indexOf(QUOTE, at + 1);
  }
  return -1;
}

function identityOf(event: Json, model: string | null): Identity {
  const identity: Record<string, unknown> = {};
  for (const key of COMMON) if (key in event) identity[key] = event[key];
  if (model !== null) identity['model'] = model;
  return identity;
}

/** The text of a chunk's only choice; null: there is none. */
export function contentOf(event: Json): string | null {
  const [choice] = Array.isArray(event['choices']) ? event['choices'] : [];
  const content = object(object(choice)?.['delta'])?.['content'];
  return typeof content === 'string' ? content : null;
}
