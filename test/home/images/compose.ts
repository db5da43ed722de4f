import type { Docker } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';
import { derivedImageStep } from './derived.ts';

/** Docker's command line with `compose`, as a NAS has it; an older machine's own has none. */
export function composeImageStep(docker: Docker, base: string): Step<string> {
  return derivedImageStep(docker, { title: 'compose image', dockerfile: 'compose', name: 'compose', base });
}
