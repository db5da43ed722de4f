/**
 * Drills: running one, and the reports of the last ones.
 */
import type { Router } from 'express';
import { z } from 'zod';
import { AppError } from '../../../errors.ts';
import type { Drills } from '../../../ports/drills.ts';
import { route } from './routes.ts';
import { queryFlag, read } from './validate.ts';

const DrillBody = z.strictObject({
  scenario: z.string({ error: 'the name of a scenario' }),
  model: z.string({ error: 'the name of a model' }).optional(),
});
const WaitQuery = z.strictObject({ wait: queryFlag.optional() });

export interface DrillRoutesOptions {
  readonly drills: Drills;
  readonly seq: () => number;
}

/**
 * Adds `/drill` and `/drills`. The answer is the report; with `wait=0` it is `{seq}` at once. A client that
 * leaves does not stop a drill.
 */
export function drillRoutes(router: Router, { drills, seq }: DrillRoutesOptions): void {
  route(router, '/drill', {
    async post(req, res) {
      const { wait = true } = read(WaitQuery, req.query, 'query');
      const { scenario, model = null } = read(DrillBody, req.body, 'body');
      const since = seq();
      const report = drills.run({ scenario, model });
      if (wait) {
        res.json(await report);
        return;
      }
      const refused = await early(report);
      if (refused !== null) throw refused;
      res.status(202).json({ seq: since });
    },
  });
  route(router, '/drills', { get: (_req, res) => void res.json({ reports: drills.reports() }) });
}

/** What is refused at once; null: it goes on, and its report comes by `/drills`. */
async function early(report: Promise<unknown>): Promise<AppError | null> {
  const settled = report.then(
    () => null,
    (thrown: unknown) => AppError.from(thrown),
  );
  const { promise, resolve } = Promise.withResolvers<null>();
  setImmediate(() => resolve(null));
  return Promise.race([settled, promise]);
}
