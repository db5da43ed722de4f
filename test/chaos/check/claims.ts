/** What a stream with a seam in its text says of its placements. */
import type { Transcript } from '../transcript.ts';
import type { Finding } from './finding.ts';
import { piecesOf } from './pieces.ts';

/** A text that one placement sent, and what it followed. */
export interface Claim {
  readonly transcript: Transcript;
  readonly model: string;
  readonly placement: string;
  readonly before: string;
  readonly text: string;
  /** The answer ended well with it; else it was cut, and is a beginning. */
  readonly last: boolean;
}

/** Of a stream with a seam in its text: what each placement said. Empty where nothing was continued. */
export function claimsOf(transcript: Transcript): Claim[] {
  if (transcript.path !== '/v1/chat/completions') return [];
  const { pieces, done } = piecesOf(transcript);
  if (pieces.length < 2) return [];
  let before = '';
  return pieces.flatMap(({ placement, text }, index) => {
    const claim = { transcript, model: String(transcript.body['model']), before, text };
    before += text;
    if (placement === null) return [];
    return [{ ...claim, placement, last: done && index === pieces.length - 1 }];
  });
}

/** @param expected all that the placement says by itself after `before` */
export function judge({ transcript, before, text, last }: Claim, expected: string): Finding[] {
  if (last ? text === expected : expected.startsWith(text)) return [];
  const rule = before === '' ? 'what came before a seam is right' : 'what came after a seam is right';
  const at = [...text].findIndex((character, index) => [...expected][index] !== character);
  const from = Math.max(0, at < 0 ? expected.length - 40 : at - 20);
  const part = (of: string) => JSON.stringify([...of].slice(from, from + 80).join(''));
  const what = `from character ${from}: ${part(text)}, not ${part(expected)}`;
  return [{ rule, request: transcript.id, what }];
}
