/** What the llama-servers say that they did, against what the clients asked for and were told. */
import { markOf } from '../clients/mark.ts';
import type { Generation } from '../logs/generations.ts';
import type { Transcript } from '../transcript.ts';
import { attemptsTold, mostAttempts, placementTold } from './attempts.ts';
import type { Outcome } from './ended.ts';
import type { Finding } from './finding.ts';

export interface LogEvidence {
  readonly generations: readonly Generation[];
  /** `outcome`: null where a request did not end as one may. */
  readonly ends: readonly { readonly transcript: Transcript; readonly outcome: Outcome | null }[];
  /** Containers that run at the end. */
  readonly running: ReadonlySet<string>;
  /** Whether a container was hit before a moment: then it need not do what it should. */
  hurtBefore(container: string, at: number): boolean;
  /** Ids of the requests that were moved since their server was silent for too long: it may have ended by itself. */
  readonly givenUp: ReadonlySet<string>;
  /** When the controller was away. */
  readonly deaths: readonly { readonly from: number; readonly to: number }[];
}

/** For a whole answer to reach the program after its last token. */
const ARRIVES_MS = 5_000;
/** For a server to see that a client went, on a machine with much to do. */
const LETS_GO_MS = 20_000;
/** For a request that was on its way when its client went. */
const ON_ITS_WAY_MS = 5_000;

/** As containers of instances are named. */
const PLACEMENT = /-(\w+)-[0-9a-f]{6}$/;

/** What was asked for with one mark: one request, or one and its repetition under the same key. */
interface Asked {
  readonly ends: LogEvidence['ends'];
  readonly generations: readonly Generation[];
  readonly id: string;
}

export function checkGenerations(evidence: LogEvidence): Finding[] {
  const byMark = Map.groupBy(evidence.generations, ({ mark }) => mark);
  const asked = Map.groupBy(evidence.ends, ({ transcript }) => markOf(transcript.body));
  const findings = [
    ...evidence.generations.flatMap((one) => stillBusy(evidence, one)),
    ...proofs(evidence, byMark.get(null) ?? []),
  ];
  for (const mark of new Set([...byMark.keys(), ...asked.keys()])) {
    if (mark === null) continue;
    const ends = [...(asked.get(mark) ?? [])].sort((a, b) => a.transcript.sentAt - b.transcript.sentAt);
    const generations = [...(byMark.get(mark) ?? [])].sort((a, b) => a.begunAt - b.begunAt);
    const one: Asked = { ends, generations, id: ends[0]?.transcript.id ?? `mark ${mark}` };
    findings.push(...tooMany(evidence, one), ...doubled(evidence, one), ...unwanted(evidence, one));
    findings.push(...unseen(one), ...misplaced(one));
  }
  return findings;
}

/** Each generation was let go, or its container went with it. */
function stillBusy({ running }: LogEvidence, { container, task, end, mark }: Generation): Finding[] {
  if (end !== null || !running.has(container)) return [];
  const what = `${container} runs and has not released task ${task} (mark ${mark})`;
  return [{ rule: 'each slot is released', request: '', what }];
}

/** What no client asked for is the one proof that an instance serves, and one more for each controller that adopted it. */
function proofs({ deaths }: LogEvidence, unasked: readonly Generation[]): Finding[] {
  const own = Map.groupBy(unasked, ({ container }) => container);
  return [...own].flatMap(([container, all]) =>
    all.length <= 1 + deaths.length
      ? []
      : [{ rule: 'nothing is generated unasked', request: '', what: `${container}: ${all.length}` }],
  );
}

function tooMany({ deaths }: LogEvidence, { ends, generations, id }: Asked): Finding[] {
  const allowed = ends.map(({ transcript }) => mostAttempts(transcript));
  const most = isOneAnswer(ends, deaths)
    ? Math.max(0, ...allowed)
    : allowed.reduce((sum, one) => sum + one, 0);
  if (generations.length <= most) return [];
  const what = `${generations.length} for at most ${most} attempts: ${told(generations)}`;
  return [{ rule: 'no more generations than attempts', request: id, what }];
}

/** A text that was made whole, by a server that nothing was done to, is not made again. */
function doubled(evidence: LogEvidence, { ends, generations, id }: Asked): Finding[] {
  const { hurtBefore, deaths, givenUp } = evidence;
  if (!isOneAnswer(ends, deaths) || ends.some(({ transcript }) => givenUp.has(transcript.id))) return [];
  const first = generations.findIndex(
    ({ container, end }) => end?.kind === 'whole' && !hurtBefore(container, end.at + ARRIVES_MS),
  );
  if (first < 0 || first === generations.length - 1) return [];
  return [{ rule: 'no generation is doubled', request: id, what: told(generations) }];
}

/** Under a key the first answer is the answer, unless it was none, or the controller forgot it. */
function isOneAnswer(ends: Asked['ends'], deaths: LogEvidence['deaths']): boolean {
  const [first, second] = ends;
  if (first === undefined || second === undefined) return true;
  const from = first.transcript.sentAt;
  const to = second.transcript.endedAt;
  const forgotten = deaths.some((death) => death.from <= to && from <= death.to);
  return first.outcome === 'answered' && !forgotten;
}

/** Nothing is made, or goes on, for a client that left. */
function unwanted(evidence: LogEvidence, { ends, generations, id }: Asked): Finding[] {
  if (ends.length === 0 || ends.some(({ outcome }) => outcome !== 'left')) return [];
  const leftAt = Math.max(...ends.map(({ transcript }) => transcript.endedAt));
  return generations.flatMap((one) => {
    const until = leftAt + LETS_GO_MS;
    const late = one.begunAt > leftAt + ON_ITS_WAY_MS;
    const goesOn = one.end !== null && one.end.at > until && !isCompiling(evidence, one, leftAt, one.end.at);
    if (!(late || goesOn) || evidence.hurtBefore(one.container, until)) return [];
    const what = `left at ${Math.round(leftAt)}: ${told([one])}`;
    return [{ rule: 'who leaves is let go', request: id, what }];
  });
}

/**
 * A software GPU compiles its shaders inside a batch, on a busy machine for most of a minute: until then the server
 * neither sees who left nor does anything for others.
 */
function isCompiling(
  { generations }: LogEvidence,
  { container }: Generation,
  from: number,
  to: number,
): boolean {
  if (PLACEMENT.exec(container)?.[1] !== 'gpu') return false;
  const signs = generations
    .filter((one) => one.container === container)
    .flatMap(({ begunAt, end }) => (end === null ? [begunAt] : [begunAt, end.at]));
  return signs.every((at) => at <= from || at > to - LETS_GO_MS);
}

/** An answer comes from a llama-server. */
function unseen({ ends, generations, id }: Asked): Finding[] {
  if (generations.length > 0 || ends.every(({ outcome }) => outcome !== 'answered')) return [];
  return [{ rule: 'each answer was generated', request: id, what: 'no log tells of it' }];
}

/** What was made whole last was made where the client was told. */
function misplaced({ ends, generations, id }: Asked): Finding[] {
  const [end] = ends;
  const last = generations.at(-1);
  if (end?.outcome !== 'answered' || last?.end?.kind !== 'whole') return [];
  const { transcript } = end;
  const placement = placementTold(transcript);
  // Of a text that was whole when it was cut the last attempt generates nothing.
  if (placement === null || attemptsTold(transcript) > generations.length) return [];
  if (PLACEMENT.exec(last.container)?.[1] === placement) return [];
  return [
    { rule: 'an answer comes from where it says', request: id, what: `${placement}, but ${told([last])}` },
  ];
}

function told(generations: readonly Generation[]): string {
  return generations
    .map(({ container, task, begunAt, end }) => {
      const how = end === null ? 'no end' : `${end.kind} at ${Math.round(end.at)}`;
      return `${container} task ${task}, begun at ${Math.round(begunAt)}, ${how}`;
    })
    .join('; ');
}
