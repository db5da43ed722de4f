/**
 * Property tests, which try the same values in every run: a run that fails by chance says nothing of the change that
 * it judges. `LLAMASTEAD_TEST_SEED=random npm run test:core` tries others, a number those of a run that failed.
 */
import fc from 'fast-check';

const seed = process.env['LLAMASTEAD_TEST_SEED'] ?? '1';
if (seed !== 'random') fc.configureGlobal({ seed: Number(seed) });

export { fc };
