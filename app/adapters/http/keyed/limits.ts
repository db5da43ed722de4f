/** How much is kept for idempotency keys, and how long. */
import type { Limits } from './table.ts';

/**
 * Answers of language models are small (a long one has 100 KB), so hundreds fit; an answer that is no stream is
 * held up to the same size. Ten minutes are more than the retries of any client take.
 */
export const LIMITS: Limits = {
  answerBytes: 4 * 1024 * 1024,
  totalBytes: 16 * 1024 * 1024,
  // Two hashes, the head, and the places in the tables.
  entryBytes: 1024,
  keptMs: 10 * 60_000,
};

/**
 * Clients that lost their connection come back within seconds, with back-off within half a minute; longer than
 * this, a home's only slot would work for nobody.
 */
export const GRACE_MS = 60_000;
