/** Requests of HTTP/1.1 read from one connection: as much of it as the proxies that are measured send. */

export interface StubRequest {
  readonly path: string;
  readonly body: Buffer;
}

const HEAD_END = '\r\n\r\n';

/**
 * Takes the bytes of a connection and tells each whole request. Bodies by length only.
 * Throws where a request has a body of another kind.
 */
export function requestReader(take: (request: StubRequest) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let size = 0;
  let wanted = 0;
  return (chunk) => {
    parts.push(chunk);
    size += chunk.length;
    while (size > 0 && size >= wanted) {
      const bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, size);
      parts = [bytes];
      const end = bytes.indexOf(HEAD_END);
      if (end < 0) return;
      const head = bytes.toString('latin1', 0, end);
      if (/\r\ntransfer-encoding:/i.test(head)) throw new Error('the stub reads bodies by length only');
      wanted = end + HEAD_END.length + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (size < wanted) return;
      const body = bytes.subarray(end + HEAD_END.length, wanted);
      parts = size > wanted ? [bytes.subarray(wanted)] : [];
      size -= wanted;
      wanted = 0;
      take({ path: head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/')), body });
    }
  };
}
