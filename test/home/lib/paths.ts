import { join, resolve } from 'node:path';

/** The checkout that this file belongs to. */
export const repository: string = resolve(import.meta.dirname, '../../..');

/**
 * What outlives a checkout: the engine's data, models, caches. Outside the repository, so that a fresh clone
 * finds it again.
 */
export const benchDir: string = process.env['LLAMASTEAD_BENCH_DIR'] ?? '/var/lib/llamastead-bench';

export const modelsDir: string = join(benchDir, 'models');
export const engineSocket: string = join(benchDir, 'docker.sock');

/** What one checkout's home keeps: its configuration, state and home.json. */
export const homeDir: string = join(repository, '.home');
