import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { spec } from 'node:test/reporters';
import { COUNT_NAMES, type Counts, type FileResult, type TestEvent } from './one-file.ts';

export interface Report {
  add(result: FileResult): void;
  /** Ends with a summary of all, as Node's runner gives of one run; true: nothing failed. */
  end(ms: number): Promise<boolean>;
}

/** Words of Node's summary for the counts whose names differ. */
const WORDS: Partial<Record<(typeof COUNT_NAMES)[number], string>> = { passed: 'pass', failed: 'fail' };

/** One report, by Node's own reporter, of files that ran in runs of their own. */
export function reportTo(output: NodeJS.WritableStream): Report {
  const events = new PassThrough({ objectMode: true });
  const report = events.pipe(new spec());
  report.pipe(output, { end: false });
  const total = Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as Record<keyof Counts, number>;
  return {
    add(result) {
      for (const event of result.events) events.write(event);
      for (const name of COUNT_NAMES) total[name] += result.counts[name];
    },
    async end(ms) {
      for (const name of COUNT_NAMES) events.write(line(`${WORDS[name] ?? name} ${total[name]}`));
      events.write(line(`duration_ms ${ms}`));
      events.end();
      await finished(report, { writable: true, readable: true });
      return total.failed === 0 && total.cancelled === 0;
    },
  };
}

const line = (message: string): TestEvent => ({
  type: 'test:diagnostic',
  data: { nesting: 0, message, level: 'info' },
});
