/**
 * Finds the name that was probably meant, for error messages.
 */

/** The candidate with the fewest edits, where at most a third of the letters differ; else null. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const wanted = word.slice(0, 100).toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: edits(wanted, candidate.toLowerCase()) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate ?? null;
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    last = row;
  }
  return last[b.length] ?? 0;
}

/** ` Did you mean "x"?` or the names that exist; empty where there are none. */
export function hint(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  if (near !== null) return ` Did you mean ${JSON.stringify(near)}?`;
  if (candidates.length === 0) return '';
  const shown = candidates.slice(0, 10).join(', ');
  return ` There ${candidates.length === 1 ? 'is' : 'are'}: ${shown}${candidates.length > 10 ? ', ...' : ''}.`;
}
