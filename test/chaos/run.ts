/** A run: clients and faults at once, then rest, then the checks. */
import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { View } from '../../app/core/view.ts';
import { check, type Verdict } from './check/check.ts';
import type { Finding } from './check/finding.ts';
import { memoryStays, type Sample } from './check/memory.ts';
import { checkSeams, type SeamCounts } from './check/seams.ts';
import { busySlots } from './check/slots.ts';
import { type Crowd, startCrowd } from './clients/crowd.ts';
import { heal } from './faults/faults.ts';
import { streamingInstance } from './faults/streaming.ts';
import { type Strike, strikeUntil } from './faults/strike.ts';
import { type ChaosHome, startHome } from './home.ts';
import type { Generation } from './logs/generations.ts';
import type { ChaosOptions } from './options.ts';
import { randomFrom } from './random.ts';
import { within } from './within.ts';

export interface Run extends Verdict {
  readonly requests: number;
  readonly strikes: readonly Strike[];
  /** Resident bytes of the controller: at the start of the load, at its end, at most. */
  readonly memory: { readonly first: number; readonly last: number; readonly most: number };
  /** Streams that changed their placement. */
  readonly moved: number;
  /** That the llama-servers' logs tell of. */
  readonly generations: readonly Generation[];
  readonly seams: SeamCounts;
}

const MINUTE = 60_000;
/** A model of one slot has a short line, so that its long texts get their turn. */
const STORY_MODELS = ['single', 'alone'];
const MIX = ['shared', 'shared', 'shared', 'shared', 'shared', 'cpu-only', ...STORY_MODELS];
const MEMORY_EVERY_MS = 1000;
/** After the last strike, for everything, on a busy machine; the end of the home has its own time. */
const AFTER_MS = 10 * MINUTE;
const CLOSE_MS = 5 * MINUTE;
const REST_MS = 2 * MINUTE;
const LOOK_MS = 100;
/** For the last lines of a log. */
const LOGGED_MS = 30_000;
/** Of the time after the last strike, for asking again. */
const SEAMS_MS = 2 * MINUTE;
/** So long a run meets seams for sure. */
const SURE_OF_SEAMS_MINUTES = 10;

/** What the run is at, for the one who asks why it does not end. */
interface Progress {
  at: string;
  unfinished(): string;
}

/**
 * Ends, well or with an error, within `minutes` + 15.
 * @param told lines for a person who watches
 * @throws Error that says what did not end
 */
export async function runChaos(options: ChaosOptions, told: (line: string) => void): Promise<Run> {
  const progress: Progress = { at: 'the start of the home', unfinished: () => '' };
  const limit = options.minutes * MINUTE + AFTER_MS;
  const open = () => `it was at: ${progress.at}\n${progress.unfinished()}`;
  const end = performance.now() + limit;
  const home = await within(limit, 'the start of the home', startHome());
  const work = within(end - performance.now(), 'the run', runIn(home, options, progress, told), open);
  const [run] = await Promise.allSettled([work]);
  // Its failure must not hide that of the run.
  const [closed] = await Promise.allSettled([within(CLOSE_MS, 'the end of the home', home.close())]);
  if (run.status === 'fulfilled' && closed.status === 'fulfilled') return run.value;
  const failures = [run, closed].flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  throw new AggregateError(failures, failures.join('\n'));
}

async function runIn(
  home: ChaosHome,
  options: ChaosOptions,
  progress: Progress,
  told: (line: string) => void,
): Promise<Run> {
  const random = randomFrom(options.seed);
  const crowd = startCrowd({
    url: home.controller.url,
    clients: options.clients,
    models: MIX,
    storyModels: STORY_MODELS,
    random: random.branch(),
  });
  const begun = performance.now();
  const stage = (at: string) => {
    progress.at = at;
    told(`${Math.round((performance.now() - begun) / 1000)} s: ${at}`);
  };
  progress.unfinished = () => unfinishedOf(crowd);
  stage('clients and faults');
  const memory = sampled(home);
  const end = performance.now() + options.minutes * MINUTE;
  const victims = {
    ...home.victims,
    inTheMiddleOfAText: (pieces: number) => streamingInstance(home.controller, crowd.unfinished, pieces),
  };
  const strikes = await strikeUntil(end, victims, random.branch(), ({ fault, hit, from, to }) =>
    told(`  ${fault}: ${hit ?? 'nothing to hit'} (${Math.round(to - from)} ms)`),
  ).finally(crowd.stop);
  stage('the ends of the last requests');
  const transcripts = await crowd.stop();
  const samples = memory.stop();
  stage('rest');
  const last = await rest(home);
  const { deaths, broker, controller } = home;
  await heal(home.victims);
  stage('slots');
  const busy = await busySlots(home);
  const running = await controller.running();
  const generations = await settled(home, running);
  const evidence = {
    transcripts,
    deaths,
    told: broker.facts,
    newest: last.seq,
    strikes,
    generations,
    running,
  };
  if (options.evidence !== null) await writeFile(options.evidence, JSON.stringify(evidence));
  const verdict = check(evidence);
  stage('seams');
  const seams = await checkSeams(controller, transcripts, performance.now() + SEAMS_MS);
  const findings = [
    ...verdict.findings,
    ...leftOver(last),
    ...busy,
    ...seams.findings,
    ...memoryStays(samples),
  ];
  if (seams.compared === 0 && options.minutes >= SURE_OF_SEAMS_MINUTES) {
    findings.push({ rule: 'seams are compared', request: '', what: `none of ${seams.met} was` });
  }
  return {
    ...verdict,
    findings,
    strikes,
    requests: transcripts.length,
    memory: {
      first: samples[0]?.bytes ?? 0,
      last: samples.at(-1)?.bytes ?? 0,
      most: Math.max(...samples.map(({ bytes }) => bytes)),
    },
    moved: transcripts.filter(({ raw }) => raw.includes(': llamastead attempt=')).length,
    generations,
    seams,
  };
}

function unfinishedOf(crowd: Crowd): string {
  const now = performance.now();
  return crowd
    .unfinished()
    .map(({ id, plan, sentAt, bytes }) => {
      const seconds = Math.round((now - sentAt) / 1000);
      return `  ${id}, ${plan.kind}, ${plan.body['model']}: for ${seconds} s, ${bytes} bytes`;
    })
    .join('\n');
}

function sampled(home: ChaosHome): { stop(): readonly Sample[] } {
  const samples: Sample[] = [];
  const sample = () => {
    const pid = home.controller.pid();
    return home.memory().then(
      (bytes) => samples.push({ pid, bytes }),
      () => undefined,
    );
  };
  const timer = setInterval(() => void sample(), MEMORY_EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      return samples;
    },
  };
}

/** Waits until nothing waits or runs and every fact has reached the broker. */
async function rest({ controller, broker }: ChaosHome): Promise<View> {
  let view = await controller.state();
  const told = () => broker.facts.at(-1)?.seq ?? 0;
  const end = performance.now() + REST_MS;
  while (view.leases > 0 || view.queue > 0 || told() < view.seq) {
    if (performance.now() > end) {
      const { leases, queue, seq, requests } = view;
      throw new Error(
        `no rest within ${REST_MS / 1000} s: ${leases} leases, ${queue} waiting, fact ${told()} of ${seq} told\n` +
          requests.map((one) => `  ${JSON.stringify(one)}`).join('\n'),
      );
    }
    await pause(LOOK_MS);
    view = await controller.state();
  }
  return view;
}

/** What the logs tell, when they tell that every slot is free, or will not. */
async function settled({ logs }: ChaosHome, running: readonly string[]): Promise<readonly Generation[]> {
  const end = performance.now() + LOGGED_MS;
  const isOpen = ({ container, end: ended }: Generation) => ended === null && running.includes(container);
  while (logs.generations().some(isOpen) && performance.now() < end) await pause(LOOK_MS);
  return logs.generations();
}

function leftOver({ leases, queue, requests }: View): Finding[] {
  if (leases === 0 && queue === 0 && requests.length === 0) return [];
  return [{ rule: 'nothing is left', request: '', what: `${leases} leases, ${queue} waiting` }];
}
