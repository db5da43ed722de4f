/** What answers have taught of a model: how fast it reads and writes, how long its answers are. */
import type { Placement } from '../../core/types.ts';
import type { ModelView } from '../../core/view.ts';
import type { Text } from '../text/en.ts';
import type { Format } from '../text/format.ts';

/** Null where nothing was learned of the placement and of the length. */
export function learnedText(
  { tokensPerSecond, answerTokens }: Pick<ModelView, 'tokensPerSecond' | 'answerTokens'>,
  placement: Placement,
  words: Text['model'],
  format: Format,
): string | null {
  const { prompt = null, generation = null } = tokensPerSecond[placement] ?? {};
  const reads = prompt === null ? null : words.reads(format.figure(prompt));
  const writes = generation === null ? null : words.writes(format.figure(generation));
  const speed = reads !== null && writes !== null ? words.and(reads, writes) : (reads ?? writes);
  const length = answerTokens === null ? null : words.answers(answerTokens, format.number(answerTokens));
  return speed !== null && length !== null ? `${speed} · ${length}` : (speed ?? length);
}
