/** No two answers for one idempotency key. */
import type { Transcript } from '../transcript.ts';
import type { Finding } from './finding.ts';

/**
 * Pairs of transcripts with one key. Answers are kept in the controller's memory: a pair that its death came
 * between is not compared.
 */
export function checkKeyed(
  transcripts: readonly Transcript[],
  deaths: readonly { readonly from: number; readonly to: number }[],
): Finding[] {
  const byKey = Map.groupBy(
    transcripts.filter(
      ({ headers, status, end }) => headers['idempotency-key'] && status === 200 && end.kind === 'whole',
    ),
    ({ headers }) => headers['idempotency-key'],
  );
  const found: Finding[] = [];
  for (const [first, second] of byKey.values()) {
    if (first === undefined || second === undefined) continue;
    const from = Math.min(first.sentAt, second.sentAt);
    const to = Math.max(first.endedAt, second.endedAt);
    if (deaths.some((death) => death.from <= to && from <= death.to)) continue;
    if (dataOf(first.raw) === dataOf(second.raw)) continue;
    found.push({ rule: 'one answer for one key', request: second.id, what: second.raw.slice(0, 200) });
  }
  return found;
}

/** Without the comments, which tell each connection of its own waiting. */
function dataOf(raw: string): string {
  return raw.replaceAll(/^:.*\n\n?/gm, '');
}
