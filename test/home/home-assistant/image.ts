import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withContext } from '../images/context.ts';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import type { Step } from '../lib/steps.ts';

/** The release that the entities and the blueprint are proven on. */
export const HOME_ASSISTANT_VERSION = '2026.11.0';

const dockerfile = join(import.meta.dirname, 'home-assistant.Dockerfile');
const requirements = join(import.meta.dirname, 'requirements_of.py');

/** Home Assistant from its Python package; about 3 minutes on two idle cores, 1.2 GB. */
export function homeAssistantImageStep(docker: Docker, base: string): Step<string> {
  const sources = [readFileSync(dockerfile), readFileSync(requirements)];
  const name = `llamastead-bench/home-assistant:${contentHash([base, HOME_ASSISTANT_VERSION, ...sources])}`;
  return {
    name: 'Home Assistant image',
    advice: 'See whether the Python package index is reachable: pip download homeassistant, then again.',
    find: () => findImage(docker, name),
    make: (log) =>
      withContext((context) => {
        cpSync(requirements, join(context, 'requirements_of.py'));
        const args = { BASE: base, VERSION: HOME_ASSISTANT_VERSION };
        return buildImage(docker, { name, dockerfile, context, args }, log);
      }),
  };
}
