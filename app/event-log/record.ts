/**
 * The form of a segment file: a fact a line, `CRC32 (8 hex digits), blank, JSON, newline`. The checksum is
 * over the JSON's bytes.
 */
import { crc32 } from 'node:zlib';
import { FACT_TYPES, type Fact } from '../core/facts.ts';

export function encode(fact: Fact): string {
  const json = JSON.stringify(fact);
  return `${checksum(json)} ${json}\n`;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}

export interface Decoded {
  /** In order; each number greater than the one before. */
  readonly facts: readonly Fact[];
  /** Bytes up to the end of the last good line: what follows is torn. */
  readonly goodBytes: number;
  /** Lines before that end which are not good. */
  readonly badLines: number;
}

/** Reads a segment; a line that is torn, damaged or out of order is left out. */
export function decode(content: Buffer): Decoded {
  const facts: Fact[] = [];
  let goodBytes = 0;
  let bad = 0;
  let badLines = 0;
  for (let start = 0; start < content.length; ) {
    const end = content.indexOf(0x0a, start);
    if (end < 0) break;
    const fact = decodeLine(content.toString('utf8', start, end));
    if (fact === null || fact.seq <= (facts.at(-1)?.seq ?? 0)) bad++;
    else {
      facts.push(fact);
      goodBytes = end + 1;
      badLines = bad;
    }
    start = end + 1;
  }
  return { facts, goodBytes, badLines };
}

const KNOWN = new Set<string>(FACT_TYPES);

function decodeLine(line: string): Fact | null {
  const json = line.slice(9);
  if (line[8] !== ' ' || line.slice(0, 8) !== checksum(json)) return null;
  try {
    const value: unknown = JSON.parse(json);
    return isFact(value) ? value : null;
  } catch {
    return null;
  }
}

/** The checksum vouches for what we wrote; this for what another version may have written. */
function isFact(value: unknown): value is Fact {
  if (typeof value !== 'object' || value === null || !('seq' in value) || !('type' in value)) return false;
  const goodNumber = typeof value.seq === 'number' && Number.isSafeInteger(value.seq) && value.seq > 0;
  return goodNumber && typeof value.type === 'string' && KNOWN.has(value.type);
}
