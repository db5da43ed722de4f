/**
 * Requests that ended with an error: of what kind, what ended them, and whether the replay table says that they end
 * so. The table is read here anew, from what the client sent and saw.
 */
import type { Fact } from '../../../app/core/facts.ts';
import { markOf } from '../clients/mark.ts';
import { lastStrike } from '../faults/hurt.ts';
import type { Strike } from '../faults/strike.ts';
import type { Generation } from '../logs/generations.ts';
import type { Transcript } from '../transcript.ts';
import { attemptsTold } from './attempts.ts';
import { excuse } from './excuse.ts';
import type { Finding } from './finding.ts';
import { type Sent, sentOf } from './sent.ts';
import { endOf, readEvents } from './stream.ts';

/** A request that ended with an error. */
export interface Failed {
  readonly transcript: Transcript;
  readonly code: string;
  readonly message: string;
  readonly sent: Sent;
  readonly attempts: number;
  /** Since it was asked for first. */
  readonly waitedMs: number;
  /** What was done to the instances that generated for it, oldest first. */
  readonly strikes: readonly string[];
  /** As the program itself tells it, where it does. */
  readonly reason: string | null;
}

export interface ErrorEvidence {
  readonly transcripts: readonly Transcript[];
  readonly generations: readonly Generation[];
  readonly strikes: readonly Strike[];
  readonly told: readonly Fact[];
}

export interface ErrorTable {
  /** How many of each class, by its words. */
  readonly classes: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

/** @param failed the requests that ended with an error */
export function checkErrors(failed: readonly Transcript[], evidence: ErrorEvidence): ErrorTable {
  const classes = new Map<string, number>();
  const findings: Finding[] = [];
  for (const transcript of failed) {
    const one = failedOf(transcript, evidence);
    const why = excuse(one);
    const words = wordsOf(one, why);
    classes.set(words, (classes.get(words) ?? 0) + 1);
    if (why !== null) continue;
    const what = `${words}; ${one.message}`;
    findings.push({ rule: 'an error is what the replay table says', request: transcript.id, what });
  }
  return { classes, findings };
}

function failedOf(
  transcript: Transcript,
  { transcripts, generations, strikes, told }: ErrorEvidence,
): Failed {
  const mark = markOf(transcript.body);
  const sent = sentOf(transcript);
  // Under one key, the first of them began to wait.
  const asked = transcripts.filter(({ body }) => markOf(body) === mark);
  const own = generations.filter((one) => one.mark === mark).sort((a, b) => a.begunAt - b.begunAt);
  const facts = told.filter(
    ({ type, requestId }) =>
      requestId === transcript.id && (type === 'request_failed' || type === 'failover_failed'),
  );
  return {
    ...{ transcript, ...errorOf(transcript) },
    // What came of an answer came by an attempt, also where the head was sent before it.
    ...{ sent, attempts: Math.max(attemptsTold(transcript), sent === 'nothing' ? 0 : 1) },
    waitedMs: transcript.endedAt - Math.min(...asked.map(({ sentAt }) => sentAt)),
    strikes: own.map(
      ({ container, begunAt }) => lastStrike(strikes, container, begunAt, transcript.endedAt) ?? 'nothing',
    ),
    reason: facts.at(-1)?.reason ?? null,
  };
}

function errorOf({ path, raw }: Transcript): { readonly code: string; readonly message: string } {
  const { events } = readEvents(raw);
  const event = events.find((one) => endOf(path, one) === 'error');
  const { error, code, message } = JSON.parse(event?.data ?? raw) as {
    readonly error?: { readonly code?: unknown; readonly message?: unknown };
    readonly code?: unknown;
    readonly message?: unknown;
  };
  return { code: String(error?.code ?? code), message: String(error?.message ?? message) };
}

function wordsOf({ transcript, code, sent, attempts, strikes, reason }: Failed, why: string | null): string {
  const { path, body } = transcript;
  const form = body['stream'] === true ? 'stream' : 'whole';
  const struck = strikes.length === 0 ? 'no generation' : strikes.join(', then ');
  return `${code}, ${path} ${form}, ${sent} sent, ${attempts} attempts, ${struck} (${reason ?? 'no fact'}): ${why ?? 'AGAINST THE TABLE'}`;
}
