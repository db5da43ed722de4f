/** The head of an answer of HTTP/1.1 (RFC 9112), and the size lines of its chunks. */

/** What the forwarder needs of an answer's head. */
export interface ResponseHead {
  readonly status: number;
  readonly contentType: string | null;
  /** As it was sent; null: none. */
  readonly contentLength: string | null;
  readonly retryAfter: string | null;
}

/** A head with what it says of the body and the connection. */
export interface HeadFields {
  readonly head: ResponseHead;
  readonly chunked: boolean;
  readonly length: number | null;
  readonly persistent: boolean;
}

/** A head without its last empty line; null where it is none, or its framing is ambiguous. */
export function parseHead(text: string): HeadFields | null {
  const lines = text.split('\r\n');
  const start = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(lines[0] ?? '');
  if (start === null) return null;
  let contentType: string | null = null;
  let contentLength: string | null = null;
  let retryAfter: string | null = null;
  let encoding: string | null = null;
  let connection = start[1] === '1' ? '' : 'close';
  for (let i = 1; i < lines.length; i += 1) {
    const line = lines[i] ?? '';
    const colon = line.indexOf(':');
    if (colon <= 0) return null;
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).toLowerCase()) {
      case 'content-type':
        contentType = value;
        break;
      case 'content-length':
        if (!/^\d{1,15}$/.test(value) || (contentLength !== null && contentLength !== value)) return null;
        contentLength = value;
        break;
      case 'transfer-encoding':
        if (encoding !== null || value.toLowerCase() !== 'chunked') return null;
        encoding = value;
        break;
      case 'connection':
        connection = value.toLowerCase();
        break;
      case 'retry-after':
        retryAfter = value;
        break;
      default:
    }
  }
  const chunked = encoding !== null;
  if (chunked) contentLength = null;
  return {
    head: { status: Number(start[2]), contentType, contentLength, retryAfter },
    chunked,
    length: contentLength === null ? null : Number(contentLength),
    persistent: !/(?:^|,) *close *(?:,|$)/.test(connection),
  };
}

/** Hexadecimal, extensions ignored; -1 where it is none. */
export function chunkSize(line: string): number {
  const semicolon = line.indexOf(';');
  const digits = semicolon < 0 ? line : line.slice(0, semicolon).trimEnd();
  return /^[0-9a-f]{1,12}$/i.test(digits) ? Number.parseInt(digits, 16) : -1;
}
