/** Reads all evidence and says what was not kept. */
import type { Fact } from '../../../app/core/facts.ts';
import type { Transcript } from '../transcript.ts';
import { checkChat } from './chat.ts';
import { judgeEnd, type Outcome } from './ended.ts';
import { checkFacts, checkFailures } from './facts.ts';
import type { Finding } from './finding.ts';
import { checkKeyed } from './keyed.ts';

export interface Evidence {
  readonly transcripts: readonly Transcript[];
  /** When the controller was away. */
  readonly deaths: readonly { readonly from: number; readonly to: number }[];
  /** As they came over MQTT. */
  readonly told: readonly Fact[];
  /** Number of the newest fact. */
  readonly newest: number;
}

export interface Verdict {
  readonly outcomes: ReadonlyMap<Outcome, number>;
  readonly findings: readonly Finding[];
}

export function check({ transcripts, deaths, told, newest }: Evidence): Verdict {
  const findings: Finding[] = [];
  const outcomes = new Map<Outcome, number>();
  const ends = new Map<string, { transcript: Transcript; outcome: Outcome }>();
  for (const transcript of transcripts) {
    const outcome = judgeEnd(transcript, deaths);
    if (typeof outcome !== 'string') {
      findings.push(outcome);
      continue;
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    ends.set(transcript.id, { transcript, outcome });
    findings.push(...checkChat(transcript));
  }
  findings.push(...checkKeyed(transcripts, deaths));
  findings.push(...checkFacts(told, newest, deaths.length), ...checkFailures(told, ends));
  return { outcomes, findings };
}
