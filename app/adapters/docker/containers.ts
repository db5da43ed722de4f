/**
 * The Containers port on Docker: llama-server containers of one home on one or more engines.
 */
import { AppError } from '../../errors.ts';
import type { Containers } from '../../ports.ts';
import type { DockerOptions } from './options.ts';

export type { DockerOptions, EngineConfig, Log, Timing } from './options.ts';

/** Makes the port; nothing is touched before `open`. */
export function dockerContainers(_options: DockerOptions): Containers {
  throw new AppError('internal', 'the Docker adapter is being built');
}
