/** The last reports, kept over a restart: newest first, bounded. */
import { z } from 'zod';
import { DRILL_SCENARIOS, DRILL_VERDICTS } from '../../core/drill.ts';
import type { DrillReport } from '../../core/drill-report.ts';
import { AppError } from '../../errors.ts';
import type { JsonFile } from '../../ports.ts';

const KEPT = 50;

/** Only what tells a report of ours from something else. */
const Kept = z.object({
  reports: z.array(
    z.looseObject({
      id: z.string(),
      scenario: z.enum(DRILL_SCENARIOS),
      model: z.string(),
      startedAt: z.string(),
      verdict: z.enum(DRILL_VERDICTS),
      rounds: z.array(z.looseObject({})),
    }),
  ),
});

export interface DrillArchive {
  reports(): readonly DrillReport[];
  add(report: DrillReport): void;
}

/** A file that cannot be read or written loses old reports, never a drill. */
export async function openArchive(file: JsonFile, warn: (text: string) => void): Promise<DrillArchive> {
  const found = await file.read();
  const read = found.found === 'data' ? Kept.safeParse(found.data) : null;
  if (found.found === 'broken' || found.found === 'unreadable' || read?.success === false)
    warn('the reports of earlier drills cannot be read');
  let reports = read?.success ? (read.data.reports as unknown as readonly DrillReport[]) : [];
  let writing = Promise.resolve();
  return {
    reports: () => reports,
    add(report) {
      reports = [report, ...reports].slice(0, KEPT);
      const kept = { reports };
      writing = writing
        .then(() => file.write(kept))
        .catch((thrown: unknown) =>
          warn(`the report of a drill is not kept: ${AppError.from(thrown).message}`),
        );
    },
  };
}
