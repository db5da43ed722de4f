/** Reads all evidence and says what was not kept. */
import type { Fact } from '../../../app/core/facts.ts';
import { hurtBefore } from '../faults/hurt.ts';
import type { Strike } from '../faults/strike.ts';
import type { Generation } from '../logs/generations.ts';
import type { Transcript } from '../transcript.ts';
import { checkChat } from './chat.ts';
import { judgeEnd, type Outcome } from './ended.ts';
import { checkErrors } from './errors.ts';
import { checkFacts, checkFailures } from './facts.ts';
import type { Finding } from './finding.ts';
import { checkGenerations, type LogEvidence } from './generations.ts';
import { checkGoesOn } from './goes-on.ts';
import { checkKeyed } from './keyed.ts';

export interface Evidence {
  readonly transcripts: readonly Transcript[];
  /** When the controller was away. */
  readonly deaths: readonly { readonly from: number; readonly to: number }[];
  /** As they came over MQTT. */
  readonly told: readonly Fact[];
  /** Number of the newest fact. */
  readonly newest: number;
  readonly strikes: readonly Strike[];
  /** As the llama-servers' logs tell. */
  readonly generations: readonly Generation[];
  /** Names of the containers that run now. */
  readonly running: readonly string[];
}

export interface Verdict {
  readonly outcomes: ReadonlyMap<Outcome, number>;
  /** Of requests that ended with an error: how many of each class. */
  readonly errors: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
}

const ERRORS: readonly Outcome[] = ['refused', 'failed in the stream'];

export function check(evidence: Evidence): Verdict {
  const { transcripts, deaths, told, newest, strikes, generations, running } = evidence;
  const findings: Finding[] = [];
  const outcomes = new Map<Outcome, number>();
  const ends = new Map<string, { transcript: Transcript; outcome: Outcome }>();
  const all: LogEvidence['ends'][number][] = [];
  for (const transcript of transcripts) {
    const outcome = judgeEnd(transcript, deaths);
    all.push({ transcript, outcome: typeof outcome === 'string' ? outcome : null });
    if (typeof outcome !== 'string') {
      findings.push(outcome);
      continue;
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    ends.set(transcript.id, { transcript, outcome });
    findings.push(...checkChat(transcript), ...checkGoesOn(transcript));
  }
  findings.push(...checkKeyed(transcripts, deaths));
  findings.push(...checkFacts(told, newest, deaths.length), ...checkFailures(told, ends));
  const failed = [...ends.values()].filter(({ outcome }) => ERRORS.includes(outcome));
  const errors = checkErrors(
    failed.map(({ transcript }) => transcript),
    { transcripts, generations, strikes, told },
  );
  findings.push(...errors.findings);
  findings.push(
    ...checkGenerations({
      ...{ generations, ends: all, running: new Set(running), deaths, givenUp: givenUp(told) },
      hurtBefore: hurtBefore(strikes),
    }),
  );
  return { outcomes, errors: errors.classes, findings };
}

function givenUp(told: readonly Fact[]): ReadonlySet<string> {
  const silent = told.filter(({ reason }) => ['hang', 'stall', 'frozen'].includes(reason ?? ''));
  return new Set(silent.flatMap(({ requestId, requestIds = [] }) => [requestId ?? '', ...requestIds]));
}
