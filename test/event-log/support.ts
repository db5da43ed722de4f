/** An event log on a real folder, with a clock that only tests move. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Fact, FactBody } from '../../app/core/facts.ts';
import type { Problem } from '../../app/core/types.ts';
import { type EventLogOptions, openEventLog, type WritableEventLog } from '../../app/event-log.ts';
import { type ManualClock, manualClock } from '../support/clock.ts';

const root = await mkdtemp(join(tmpdir(), 'events-'));
after(() => rm(root, { recursive: true }));
let folders = 0;

export function newFolder(): string {
  return join(root, String(folders++), 'events');
}

export interface TestLog {
  readonly log: WritableEventLog;
  readonly clock: ManualClock;
  readonly told: Fact[];
  readonly notices: string[];
  readonly problems: Problem[];
  readonly gone: string[];
  /** Appends now and resolves when the last of them was told. */
  add(...facts: FactBody[]): Promise<void>;
}

/** `age`: ms that the clock is ahead of that of another log. */
export async function openLog(
  folder: string,
  { age = 0, ...more }: Partial<EventLogOptions> & { readonly age?: number } = {},
): Promise<TestLog> {
  const clock = manualClock();
  clock.advance(age);
  const notices: string[] = [];
  const problems: Problem[] = [];
  const gone: string[] = [];
  const told: Fact[] = [];
  const log = await openEventLog({
    folder,
    clock,
    notice: (text) => notices.push(text),
    problem: (problem) => problems.push(problem),
    problemGone: (code) => gone.push(code),
    ...more,
  });
  log.subscribe((fact) => told.push(fact));
  const add = async (...facts: FactBody[]) => {
    const until = told.length + facts.length;
    const done = new Promise<void>((resolve) => {
      const stop = log.subscribe(() => {
        if (told.length < until) return;
        stop();
        resolve();
      });
    });
    log.append(facts, clock.now().wall);
    await done;
  };
  return { log, clock, told, notices, problems, gone, add };
}

export async function segmentFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).sort().map((name) => join(folder, name));
}

export function numbers(facts: readonly Fact[]): number[] {
  return facts.map(({ seq }) => seq);
}
