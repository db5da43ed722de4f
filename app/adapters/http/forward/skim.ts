/**
 * A large body is nearly always large by a few long strings: pictures, documents. Parsing those costs more than
 * forwarding them, so they are left out of what is parsed.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** A string of fewer bytes stays. */
const LONG = 1024;
/** With more quotes than this, parsing it all is cheaper. */
const MOST_QUOTES = 4096;

/**
 * The JSON text of a body with its long strings emptied; null: it is not worth it, or a string has no end. The
 * emptied strings are not checked for right escapes; llama-server does that.
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
      text += body.toString('utf8', from, open + 1);
      from = close;
    }
    open = body.indexOf(QUOTE, close + 1);
  }
  return text + body.toString('utf8', from);
}

/** An odd number of backslashes stands before it. */
function isEscaped(body: Buffer, at: number): boolean {
  let before = at - 1;
  while (body[before] === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
