/**
 * A large body is nearly always large by a few long strings: pictures, documents. Parsing those costs more than
 * forwarding them, so only their beginnings are parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** So many bytes of a long string stay: enough to tell a prompt by its beginning. */
const OPENING = 256;
/** The longest escape, `\\uXXXX`. */
const ESCAPE = 6;
/** A string of fewer bytes stays. */
const LONG = 1024;
/** With more quotes than this, parsing it all is cheaper. */
const MOST_QUOTES = 4096;

/**
 * The JSON text of a body with its long strings cut short; null: it is not worth it, or a string has no end. What
 * is cut off is not checked for right escapes; llama-server does that.
 */
export function withoutLongStrings(body: Buffer): string | null {
  let text = '';
  let from = 0;
  let quotes = 0;
  let open = body.indexOf(QUOTE);
  while (open >= 0) {
    let close = body.indexOf(QUOTE, open + 1);
    for (; close >= 0 && isEscaped(body, close); close = body.indexOf(QUOTE, close + 1)) quotes += 1;
    quotes += 2;
    if (close < 0 || quotes > MOST_QUOTES) return null;
    if (close - open > LONG) {
      text += body.toString('utf8', from, openingEnd(body, open + 1));
      from = close;
    }
    open = body.indexOf(QUOTE, close + 1);
  }
  return text + body.toString('utf8', from);
}

/** The end of a string's opening: not inside a character, nor inside an escape. */
function openingEnd(body: Buffer, start: number): number {
  let end = start + OPENING;
  while (((body[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  for (let at = body.lastIndexOf(BACKSLASH, end - 1); at >= Math.max(start, end - ESCAPE); ) {
    end = at;
    at = body.lastIndexOf(BACKSLASH, end - 1);
  }
  return end;
}

/** An odd number of backslashes stands before it. */
function isEscaped(body: Buffer, at: number): boolean {
  let before = at - 1;
  while (body[before] === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
