/** Small things that must survive a restart, in one JSON document in the state folder. */

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ProblemCode } from '../core/codes.ts';
import type { Problem } from '../core/types.ts';
import { AppError } from '../errors.ts';
import type { Store, StoredState } from '../ports/store.ts';
import type { Clock, JsonFile } from '../ports.ts';

/** Changes are gathered for so long before they are written, ms. */
const GATHER = 5000;
/** What was learned of profiles and models that are long gone goes first. */
const MOST_LEARNED = 200;

const count = z.int().min(0).catch(0);
const speed = z.number().positive().nullable().catch(null);
const Stored = z.object({
  owner: z.uuid().optional().catch(undefined),
  brokerPassword: z.string().min(16).optional().catch(undefined),
  counters: z
    .object({ requests: count, failed: count, failovers: count })
    .catch({ requests: 0, failed: 0, failovers: 0 }),
  reductions: z
    .record(z.string(), z.object({ parallel: z.int().min(1), context: z.int().min(1), since: z.number() }))
    .catch({}),
  raisedLimits: z.array(z.string()).catch([]),
  speeds: z.record(z.string(), z.object({ prompt: speed, generation: speed })).catch({}),
  answerTokens: z.record(z.string(), z.number().positive()).catch({}),
});

export interface OpenedStore {
  readonly store: Store;
  readonly problems: readonly Problem[];
}

/**
 * Reads the document; what is missing is made and written at once. `problem` hears of a write that failed,
 * `problemGone` of one that worked after it. `makePassword` is asked where the broker has none yet.
 */
export async function openStore(
  file: JsonFile,
  clock: Clock,
  report: { readonly problem: (problem: Problem) => void; readonly problemGone: (code: ProblemCode) => void },
  makePassword: () => string,
): Promise<OpenedStore> {
  const content = await file.read();
  const parsed = Stored.safeParse(content.found === 'data' ? content.data : {});
  const found = parsed.success ? parsed.data : Stored.parse({});
  const problems: Problem[] = [];
  if (content.found === 'broken' || (content.found === 'data' && found.owner === undefined)) {
    problems.push(lostOwner(content.found === 'broken' ? content.aside : await file.keepAside()));
  }
  if (content.found === 'unreadable') problems.push(unreadable(content.cause));
  const state: StoredState = {
    ...found,
    owner: found.owner ?? randomUUID(),
    brokerPassword: found.brokerPassword ?? makePassword(),
  };
  const complete = found.owner !== undefined && found.brokerPassword !== undefined;
  // A document that cannot be read is not replaced: it may hold the owner of running containers.
  const kept = content.found === 'unreadable' ? { ...file, write: async () => {} } : file;
  const store = storeOf(kept, clock, report, { state, written: complete });
  await store.flush();
  return { store, problems };
}

function storeOf(
  file: JsonFile,
  clock: Clock,
  report: { readonly problem: (problem: Problem) => void; readonly problemGone: (code: ProblemCode) => void },
  initial: { readonly state: StoredState; readonly written: boolean },
): Store {
  let state = initial.state;
  let written: StoredState | null = initial.written ? initial.state : null;
  let writing: Promise<void> = Promise.resolve();
  let cancel: (() => void) | null = null;
  let failing = false;

  const write = async (): Promise<void> => {
    cancel?.();
    cancel = null;
    if (written === state) return;
    const next = state;
    try {
      await file.write(next);
      written = next;
      if (failing) report.problemGone('state_unwritable');
      failing = false;
    } catch (thrown) {
      if (!failing) report.problem(unwritable(AppError.from(thrown).message));
      failing = true;
      arm();
    }
  };
  const flush = (): Promise<void> => {
    writing = writing.then(write);
    return writing;
  };
  const arm = (): void => {
    cancel ??= clock.at(clock.now().mono + GATHER, () => void flush());
  };
  return {
    state: () => state,
    update: (change) => {
      const next = { ...state, ...change };
      if (JSON.stringify(next) === JSON.stringify(state)) return;
      state = { ...next, speeds: newest(next.speeds), answerTokens: newest(next.answerTokens) };
      arm();
    },
    flush,
  };
}

function newest<V>(learned: Readonly<Record<string, V>>): Record<string, V> {
  return Object.fromEntries(Object.entries(learned).slice(-MOST_LEARNED));
}

function lostOwner(aside: string): Problem {
  return {
    code: 'state_broken',
    text: `The file with Llamastead's own state could not be used. It was kept as ${aside}, and a new one was begun.`,
    fix: 'Containers from before are not known as ours any more: remove those named llamastead-* by hand.',
    params: { file: aside },
  };
}

function unreadable(cause: string): Problem {
  return {
    code: 'state_unreadable',
    text: `The state folder could not be read (${cause}). Containers from before are not known as ours.`,
    fix: 'See that the state folder can be read, then restart Llamastead.',
    params: { cause },
  };
}

function unwritable(cause: string): Problem {
  return {
    code: 'state_unwritable',
    text: `The state folder cannot be written (${cause}). What was learned will be forgotten at a restart.`,
    fix: 'Make room on the disk of the state folder, and see that it can be written.',
    params: { cause },
  };
}
