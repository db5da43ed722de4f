import { run } from 'node:test';

/** What the runner tells of a file's tests, in the form that its reporters read. */
export interface TestEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Counts by the names of Node's summary. */
export type Counts = Readonly<Record<CountName, number>>;
export const COUNT_NAMES = ['tests', 'suites', 'passed', 'failed', 'cancelled', 'skipped', 'todo'] as const;
type CountName = (typeof COUNT_NAMES)[number];

export interface FileResult {
  readonly events: readonly TestEvent[];
  readonly counts: Counts;
  readonly ms: number;
}

/** A test, or a hook, may take this long unless it names another limit. */
const TEST_MS = 300_000;
/** A file may take this long: some of its hooks build an image on a fresh machine. */
const FILE_MS = 30 * 60_000;

/**
 * Runs a test file in a process of its own, which ends with it: a file that hangs is killed, and has failed.
 * Events come whole when it has ended, so that files that run side by side do not mix in a report.
 */
export async function runTestFile(path: string): Promise<FileResult> {
  const start = performance.now();
  const events: TestEvent[] = [];
  let counts: Counts | undefined;
  const stream = run({ files: [path], timeout: TEST_MS, signal: AbortSignal.timeout(FILE_MS) });
  for await (const event of stream as AsyncIterable<TestEvent>) {
    if (event.data?.['file'] !== undefined) events.push(event);
    // The summary of the run itself, which counts a file that died too, names no file.
    else if (event.type === 'test:summary') counts = event.data['counts'] as Counts;
  }
  if (counts === undefined) throw new Error(`the test runner gave no summary of ${path}`);
  return { events, counts, ms: performance.now() - start };
}
