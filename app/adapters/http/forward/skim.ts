/**
 * A large body is nearly always large by a few long strings: pictures, documents. Parsing those costs more than
 * forwarding them, so only their beginnings are parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** So many bytes of a long string stay: enough to tell a prompt by its beginning. */
const OPENING = 256;
/** The longest escape, `\uXXXX`. */
const ESCAPE = 6;
/** A string of fewer bytes stays. */
const LONG = 1024;
/** With more quotes than this, parsing it all is cheaper. */
const MOST_QUOTES = 4096;
/** What a picture looks like, in its own data URL or bare: text has spaces or other characters. */
const ENCODED = /^[\w+/=:;,.-]+$/;

/**
 * The JSON text of a body with its long strings cut short; null: it is not worth it, or a string has no end. What
 * is cut off is not checked for right escapes; llama-server does that.
 */
export function withoutLongStrings(body: Buffer): string | null {
  let text = '';
  let from = 0;
  const whole = eachLongString(body, (start, end) => {
    text += body.toString('utf8', from, openingEnd(body, start));
    from = end;
  });
  return whole ? text + body.toString('utf8', from) : null;
}

/** Bytes of a body that may be text: all but its pictures. */
export function textBytes(body: Buffer): number {
  let pictures = 0;
  eachLongString(body, (start, end) => {
    if (ENCODED.test(body.toString('latin1', start, start + OPENING))) pictures += end - start;
  });
  return body.length - pictures;
}

/** Calls for each long string; false: it has too many strings to look at, or one without end. */
function eachLongString(body: Buffer, visit: (start: number, end: number) => void): boolean {
  let quotes = 0;
  let open = body.indexOf(QUOTE);
  while (open >= 0) {
    let close = body.indexOf(QUOTE, open + 1);
    for (; close >= 0 && isEscaped(body, close); close = body.indexOf(QUOTE, close + 1)) quotes += 1;
    quotes += 2;
    if (close < 0 || quotes > MOST_QUOTES) return false;
    if (close - open > LONG) visit(open + 1, close);
    open = body.indexOf(QUOTE, close + 1);
  }
  return true;
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
