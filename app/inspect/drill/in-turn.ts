/** One drill on several models, one after another. */
import { AppError } from '../../errors.ts';
import type { Drills } from '../../ports/drills.ts';

/** What a drill found is told by its events; only why it could not be run comes back. */
export function inTurn(run: Drills['run']): Drills['runEach'] {
  return async (scenario, models) => {
    const errors: string[] = [];
    for (const model of models) {
      try {
        const { verdict, why } = await run({ scenario, model });
        if (verdict === 'not_applicable') errors.push(`drill of ${model}: ${why}`);
      } catch (thrown) {
        errors.push(`drill of ${model}: ${AppError.from(thrown).message}`);
      }
    }
    return errors;
  };
}
