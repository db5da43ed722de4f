/**
 * Drills: running one, and the reports of the last ones.
 */
import type { Router } from 'express';
import { z } from 'zod';
import type { Drills } from '../../../ports/drills.ts';
import { OutsideReport } from './outside-report.ts';
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
 * Adds `/drill` and `/drills`, which also takes the report of a drill that only the command line can run. The answer
 * to a drill is the report; with `wait=0` it is `{seq}` as soon as the drill has
 * begun. A client that leaves does not stop a drill.
 */
export function drillRoutes(router: Router, { drills, seq }: DrillRoutesOptions): void {
  route(router, '/drill', {
    async post(req, res) {
      const { wait = true } = read(WaitQuery, req.query, 'query');
      const { scenario, model = null } = read(DrillBody, req.body, 'body');
      const began = Promise.withResolvers<null>();
      const report = drills.run({ scenario, model }, () => began.resolve(null));
      const first = await Promise.race(wait ? [report] : [report, began.promise]);
      if (first === null) res.status(202).json({ seq: seq() });
      else res.json(first);
      // What goes wrong later is told by the event that ends the drill.
      await report.catch(() => undefined);
    },
  });
  route(router, '/drills', {
    get: (_req, res) => void res.json({ reports: drills.reports() }),
    post(req, res) {
      drills.keep(read(OutsideReport, req.body, 'body'));
      res.json({ seq: seq() });
    },
  });
}
