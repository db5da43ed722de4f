/**
 * Container logs as lines. Without a terminal Docker sends frames of an 8 byte header (stream, three zeros,
 * length as a 32 bit big endian number) and text of stdout or stderr; a frame may be cut anywhere.
 */

const HEADER = 8;
const LONGEST_LINE = 600;

/** Takes chunks as they come, gives whole lines, in the order in which they were written. */
export function logLines(onLine: (line: string) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0);
  const texts = new Map<number, string>();
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER) {
      const end = HEADER + pending.readUInt32BE(4);
      if (pending.length < end) return;
      const stream = pending.readUInt8(0);
      const lines = ((texts.get(stream) ?? '') + pending.toString('utf8', HEADER, end)).split('\n');
      texts.set(stream, lines.pop() ?? '');
      pending = pending.subarray(end);
      for (const line of lines) onLine(cleaned(line));
    }
  };
}

/** All lines of a log that came in one piece. */
export function allLines(log: Buffer): readonly string[] {
  const lines: string[] = [];
  const feed = logLines((line) => lines.push(line));
  feed(log);
  return lines;
}

/** The lines as people may see them: without the key, and without the empty ones at the end. */
export function redacted(lines: readonly string[], key: string | undefined): readonly string[] {
  const shown = key === undefined || key === '' ? lines : lines.map((line) => line.replaceAll(key, '***'));
  const last = shown.findLastIndex((line) => line.trim() !== '');
  return shown.slice(0, last + 1);
}

function cleaned(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text;
}
