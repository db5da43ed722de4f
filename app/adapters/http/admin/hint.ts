/**
 * Ends an error message with what was probably meant.
 */
import { nearest } from '../../../core/nearest.ts';

const SHOWN = 10;

/** ` Did you mean "x"?`, or the names that exist; empty where there are none. */
export function hint(word: string, candidates: readonly string[]): string {
  const near = nearest(word.slice(0, 100), candidates);
  if (near !== null) return ` Did you mean ${JSON.stringify(near)}?`;
  if (candidates.length === 0) return '';
  const shown = candidates.slice(0, SHOWN).join(', ');
  const rest = candidates.length - SHOWN;
  const more = rest > 0 ? ` and ${rest} more` : '';
  return ` There ${candidates.length === 1 ? 'is' : 'are'}: ${shown}${more}.`;
}
