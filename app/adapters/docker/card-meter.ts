/**
 * Keeps a container that reads the memory of an engine's NVIDIA cards, while there is one and its image: started, followed,
 * replaced when it ends, with growing pauses. Why it can't read is told once.
 */
import type { CardMemory, Problem } from '../../core/types.ts';
import type { ContainersInput } from '../../ports.ts';
import { type CardReadings, cardReadings } from './card-readings.ts';
import { type MeterEnd, type MeterParts, meterRun } from './meter-run.ts';
import type { Log } from './options.ts';
import { alarm } from './pause.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;
/** It read for so long: its end is a new one (ms). */
const WELL_MS = 60_000;
/** So many ends in a row are no accident, and told. */
const TOLD_AFTER = 3;

export interface CardMeter {
  /** The engine is reached, perhaps again: what failed may do now. */
  connected(): void;
  /** What is wanted may have changed. */
  check(): void;
  readonly readings: Pick<CardReadings, 'recent' | 'fresh'>;
  /** Removes it; none is made after. */
  close(): Promise<void>;
}

export interface CardMeterParts extends MeterParts {
  readonly log: Log;
  readonly report: (input: ContainersInput) => void;
  /** Of which it is made; null: there is no card to read. */
  readonly image: () => string | null;
}

/** What it waits for: another wish, the engine's return, or a time. */
type Waiting = 'change' | 'engine' | 'time';

export function cardMeter(parts: CardMeterParts): CardMeter {
  const { clock, log, report, owner } = parts;
  const readings = cardReadings(clock);
  let closed = false;
  let running: Promise<void> | null = null;
  let runs: { readonly image: string; readonly stop: AbortController } | null = null;
  let tried: string | null = null;
  let failures = 0;
  let connections = 0;
  let told: string | null = null;
  let waiting: Waiting | null = null;
  let wake: () => void = () => undefined;

  async function wait(what: Waiting, milliseconds?: number): Promise<void> {
    if (closed) return;
    waiting = what;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = alarm(clock, resolve);
    if (milliseconds !== undefined) timer.arm(milliseconds);
    await promise;
    timer.cancel();
    waiting = null;
  }

  function tell(detail: string, image: string): void {
    if (told === detail) return;
    told = detail;
    log.warn({ detail, image }, 'the memory of the NVIDIA cards cannot be read');
    report({ type: 'problem_seen', problem: unread(owner.engine, image, detail) });
  }

  function isWell(): void {
    if (told === null) return;
    told = null;
    report({ type: 'problem_gone', code: 'gpu_memory_unread', about: owner.engine });
  }

  /** `since`: the connection that it was begun on. */
  async function after(end: MeterEnd, image: string, since: number): Promise<void> {
    const forEngine = async () => (connections === since ? wait('engine') : undefined);
    switch (end.kind) {
      case 'stopped':
        return;
      case 'away':
        return forEngine();
      case 'no_image':
        return wait('change');
      case 'no_access':
        tell(end.detail, image);
        return forEngine();
      case 'untold':
        log.info({ detail: end.detail }, 'the NVIDIA cards do not tell of their memory');
        return forEngine();
      case 'failed': {
        failures = end.read >= WELL_MS ? 1 : failures + 1;
        log.info({ detail: end.detail, failures }, 'the reader of the NVIDIA cards ended');
        if (failures >= TOLD_AFTER) tell(end.detail, image);
        return wait('time', Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)));
      }
    }
  }

  /** One that failed again and again has to read for a while before it counts as well. */
  function reading(): (pci: string, memory: CardMemory) => void {
    let first: number | null = null;
    return (pci, memory) => {
      readings.add(pci, memory);
      const now = clock.now().mono;
      first ??= now;
      if (failures < TOLD_AFTER || now - first >= WELL_MS) isWell();
    };
  }

  async function run(): Promise<void> {
    while (!closed) {
      const image = parts.image();
      tried = image;
      if (image === null) {
        isWell();
        await wait('change');
        continue;
      }
      const since = connections;
      const stop = new AbortController();
      runs = { image, stop };
      const end = await meterRun(parts, image, stop.signal, reading());
      runs = null;
      readings.clear();
      await after(end, image, since);
    }
  }

  return {
    readings,
    connected() {
      if (closed) return;
      connections += 1;
      failures = 0;
      running ??= run();
      wake();
    },
    check() {
      if (runs !== null && runs.image !== parts.image()) runs.stop.abort();
      else if (waiting === 'change' || (waiting !== null && tried !== parts.image())) wake();
    },
    async close() {
      closed = true;
      runs?.stop.abort();
      wake();
      await running;
    },
  };
}

function unread(engine: string, image: string, detail: string): Problem {
  return {
    code: 'gpu_memory_unread',
    about: engine,
    text: `The memory of the NVIDIA cards of the Docker engine "${engine}" cannot be read: ${detail}.`,
    fix: `Try it: docker run --rm --gpus all --entrypoint nvidia-smi ${image}. Where Docker knows no driver for it, install the NVIDIA container toolkit on the host and restart Docker.`,
    params: { engine, image, detail },
  };
}
