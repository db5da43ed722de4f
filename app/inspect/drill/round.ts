/** One round of a drill: prepares, sends, breaks, waits for the answers and for the way back. */
import type { Fact } from '../../core/facts.ts';
import { within } from '../../within.ts';
import { drillBody } from './bodies.ts';
import type { Sending } from './client.ts';
import type { Drilled } from './drilled.ts';
import { breakIt, prepareFault } from './faults.ts';
import type { RoundSeen } from './observed.ts';
import type { DrillParts, Run } from './parts.ts';
import { pause, until } from './until.ts';
import { serving, watchRound } from './watch.ts';

/** Tokens of an answer that shall be found under way: of about this many seconds. */
const ANSWER_SECONDS = 4;
const FEWEST_TOKENS = 64;
/** Seldom: a llama-server that is asked for its slots often does not see that a client left. */
const SLOTS_POLL_MS = 2_500;

/** `speed`: tokens a second of the target, as it told in the warm-up; null: not told. */
export async function runRound(
  parts: DrillParts,
  run: Run,
  drilled: Drilled,
  stream: boolean,
  speed: number | null,
): Promise<RoundSeen> {
  const { target, fallback, model } = drilled;
  const { scenario } = run;
  const notPrepared = await prepareFault(parts, run, drilled);
  if (notPrepared !== null) return nothingSeen(drilled, stream, notPrepared);
  const before = serving(parts, model, target);
  const watch = watchRound(parts, model, target);
  const began = parts.clock.now().mono;
  try {
    const tokens = Math.round((speed ?? 0) * ANSWER_SECONDS);
    const body = drillBody(scenario.sent, {
      model,
      stream,
      tokens: Math.max(1, Math.min(Math.max(FEWEST_TOKENS, tokens), Math.floor(drilled.context / 2))),
      context: drilled.context * drilled.slots,
    });
    const sendings = sendAll(parts, run, drilled, body, stream);
    const broken = await breakIt(parts, run, drilled, sendings, stream);
    parts.submit({ type: 'drill_eased' });
    const answers = await Promise.all(sendings.map((sending) => sending.done));
    const leaseEndedMs = scenario.fault.kind === 'leave' ? await leaseEnd(parts, sendings) : null;
    const failedAt = watch.failedAt();
    if (failedAt !== null) await until(parts, () => watch.backAt() !== null, drilled.recoveryMs);
    const backAt = watch.backAt();
    await told(parts, watch.facts, failedAt !== null && answers.some(({ attempts }) => (attempts ?? 0) > 1));
    const after = serving(parts, model, target);
    return {
      stream,
      target,
      fallback,
      notMade: broken.notMade,
      answers,
      failedMs: failedAt === null ? null : failedAt - began,
      backMs: failedAt === null || backAt === null ? null : backAt - failedAt,
      sameInstance: before !== null && before === after,
      leaseEndedMs,
      busySlots: leaseEndedMs === null || after === null ? null : await freedSlots(parts, after),
      other: broken.other,
      facts: [...watch.facts],
    };
  } finally {
    watch.end();
  }
}

function sendAll(parts: DrillParts, run: Run, { slots }: Drilled, body: string, stream: boolean): Sending[] {
  const count = run.scenario.many ? slots + 2 : 1;
  return Array.from({ length: count }, (_, i) =>
    parts.send({
      id: `drill-${run.id}-${stream ? 'stream' : 'whole'}-${i + 1}`,
      body,
      stream,
      mark: run.mark,
      limitMs: parts.limits.answer,
    }),
  );
}

/** From the client's leaving until no request of it is known any more. */
async function leaseEnd(parts: DrillParts, sendings: readonly Sending[]): Promise<number | null> {
  const left = parts.clock.now().mono;
  const ids = new Set(sendings.map(({ id }) => id));
  const gone = () => ![...parts.state.requests.values()].some(({ externalId }) => ids.has(externalId));
  return (await until(parts, gone, parts.limits.soon)) ? parts.clock.now().mono - left : null;
}

/** The backend notices a closed connection at its next token. */
async function freedSlots(parts: DrillParts, instance: string): Promise<number | null> {
  const limit = parts.clock.now().mono + parts.limits.soon;
  for (;;) {
    const busy = await parts.busySlots(instance);
    if (busy === null || busy === 0 || parts.clock.now().mono >= limit) return busy;
    await pause(parts, SLOTS_POLL_MS);
  }
}

/** Events are told after they are on disk: the one that names the reason is awaited, with a bound. */
async function told(parts: DrillParts, facts: readonly Fact[], moved: boolean): Promise<void> {
  const has = () => facts.some(({ type }) => type === 'failover');
  if (!moved || has()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const off = parts.subscribe(() => {
    if (has()) resolve();
  });
  await within(parts, promise, parts.limits.soon);
  off();
}

/** A round whose failure was not even made. */
export function nothingSeen({ target, fallback }: Drilled, stream: boolean, notMade: string): RoundSeen {
  return {
    stream,
    target,
    fallback,
    notMade,
    answers: [],
    failedMs: null,
    backMs: null,
    sameInstance: true,
    leaseEndedMs: null,
    busySlots: null,
    other: null,
    facts: [],
  };
}
