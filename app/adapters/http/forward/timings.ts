/** llama-server's own measurements: the object `timings` of an answer, or of a stream's last events. */
import type { Timings } from '../../../core/speed.ts';
import { parseObject } from './judge.ts';

const NEEDLE = Buffer.from('"timings":{');

/** The last `timings` in these bytes; null: none. The object is flat, so it ends at the next brace. */
export function timingsIn(bytes: Buffer): Timings | null {
  const at = bytes.lastIndexOf(NEEDLE);
  if (at < 0) return null;
  const start = at + NEEDLE.length - 1;
  const end = bytes.indexOf(0x7d, start);
  const timings = end < 0 ? null : parseObject(bytes.toString('latin1', start, end + 1));
  if (timings === null) return null;
  return {
    promptTokens: number(timings['prompt_n']),
    promptMs: number(timings['prompt_ms']),
    cachedTokens: number(timings['cache_n']),
    tokens: number(timings['predicted_n']),
    tokensMs: number(timings['predicted_ms']),
  };
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
