/** A run: clients and faults at once, then rest, then the checks. */
import type { View } from '../../app/core/view.ts';
import { until } from '../support/until.ts';
import { check, type Verdict } from './check/check.ts';
import type { Finding } from './check/finding.ts';
import { checkSeams, seamsOf } from './check/seams.ts';
import { busySlots } from './check/slots.ts';
import { startCrowd } from './clients/crowd.ts';
import { type Strike, strikeUntil } from './faults/strike.ts';
import { type ChaosHome, MODELS, startHome } from './home.ts';
import type { ChaosOptions } from './options.ts';
import { randomFrom } from './random.ts';

export interface Run extends Verdict {
  readonly requests: number;
  readonly strikes: readonly Strike[];
  /** Resident bytes of the controller: at the start of the load, at its end, at most. */
  readonly memory: { readonly first: number; readonly last: number; readonly most: number };
  /** Streams that changed their placement, and seams in their text that were compared. */
  readonly moved: number;
  readonly seams: number;
}

const MEMORY_EVERY_MS = 1000;

/** @param told lines for a person who watches */
export async function runChaos(options: ChaosOptions, told: (line: string) => void): Promise<Run> {
  const random = randomFrom(options.seed);
  const home = await startHome();
  try {
    const crowd = startCrowd({
      url: home.controller.url,
      clients: options.clients,
      models: Object.keys(MODELS),
      random: random.branch(),
    });
    const memory: number[] = [];
    const sample = () =>
      home.memory().then(
        (bytes) => memory.push(bytes),
        () => undefined,
      );
    const sampling = setInterval(() => void sample(), MEMORY_EVERY_MS);
    const end = performance.now() + options.minutes * 60_000;
    const strikes = await strikeUntil(end, home.victims, random.branch(), ({ fault, hit, from, to }) =>
      told(`${fault}: ${hit} (${Math.round(to - from)} ms)`),
    );
    const transcripts = await crowd.stop();
    clearInterval(sampling);
    const last = await rest(home);
    const { deaths, broker } = home;
    const verdict = check({ transcripts, deaths, told: broker.facts, newest: last.seq });
    const busy = await busySlots(home);
    const seams = seamsOf(transcripts);
    const wrong = await checkSeams(home.controller, seams);
    const findings = [...verdict.findings, ...leftOver(last), ...busy, ...wrong];
    return {
      ...verdict,
      findings,
      strikes,
      requests: transcripts.length,
      memory: { first: memory[0] ?? 0, last: memory.at(-1) ?? 0, most: Math.max(...memory) },
      moved: transcripts.filter(({ raw }) => raw.includes(': llamastead attempt=')).length,
      seams: seams.length,
    };
  } finally {
    await home.close();
  }
}

/** Waits until nothing waits or runs and every fact has reached the broker. */
async function rest({ controller, broker }: ChaosHome): Promise<View> {
  let view = await controller.state();
  await until(async () => {
    view = await controller.state();
    const idle = view.leases === 0 && view.queue === 0;
    return idle && (broker.facts.at(-1)?.seq ?? 0) >= view.seq;
  });
  return view;
}

function leftOver({ leases, queue, requests }: View): Finding[] {
  if (leases === 0 && queue === 0 && requests.length === 0) return [];
  return [{ rule: 'nothing is left', request: '', what: `${leases} leases, ${queue} waiting` }];
}
