/** How many tokens an answer has that the model ended by itself. */
import type { Timings } from '../../../core/speed.ts';

/** The field that tells why an answer ended. */
export type Ending = 'finish_reason' | 'stop_reason';

/** Any other reason is a cut: a limit of tokens, the end of the context. */
const BY_ITSELF = new Set(['stop', 'tool_calls', 'end_turn', 'tool_use', 'stop_sequence']);

const NOT_TOLD: Timings = { promptTokens: null, promptMs: null, tokens: null, tokensMs: null };
const QUOTE = 0x22;

/**
 * The measurements with the answer's length among them. `told`: the parts of the answer that may tell how it ended, the
 * likeliest first; `ending` null: the path does not tell it.
 */
export function withLength(
  timings: Timings | null,
  ending: Ending | null,
  told: readonly (Buffer | null)[],
): Timings | null {
  if (ending === null) return timings;
  for (const bytes of told) {
    const reason = bytes === null ? null : textOf(bytes, ending);
    if (bytes === null || reason === null) continue;
    const tokens = ending === 'finish_reason' ? timings?.tokens : numberOf(bytes, 'output_tokens');
    return tokens && BY_ITSELF.has(reason) ? { ...(timings ?? NOT_TOLD), answerTokens: tokens } : timings;
  }
  return timings;
}

/** The last value of a field; quotes within texts are escaped, so its name can't be in one. */
function textOf(bytes: Buffer, name: string): string | null {
  const start = afterName(bytes, `"${name}":"`);
  const end = start === null ? -1 : bytes.indexOf(QUOTE, start);
  return start === null || end < 0 ? null : bytes.toString('latin1', start, end);
}

function numberOf(bytes: Buffer, name: string): number | null {
  const start = afterName(bytes, `"${name}":`);
  return start === null ? null : Number.parseInt(bytes.toString('latin1', start, start + 16), 10) || null;
}

function afterName(bytes: Buffer, needle: string): number | null {
  const at = bytes.lastIndexOf(needle);
  return at < 0 ? null : at + needle.length;
}
