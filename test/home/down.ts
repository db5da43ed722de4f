import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { findController, removeController, removeNetwork } from './controller/container.ts';
import { folders } from './controller/folders.ts';
import { homeFile, readHomeFile } from './controller/home-file.ts';
import { stopEngineOf } from './engine.ts';
import { removeHomeAssistant } from './home-assistant/beside-home.ts';
import { type Docker, dockerOn, removeLabelled } from './lib/docker.ts';
import { repository } from './lib/paths.ts';

/** Stops what `npm run home` of this checkout started: the controller, its instances, the engine if it is ours. */
export async function takeDown(say: (line: string) => void): Promise<void> {
  const home = readHomeFile();
  if (home === undefined) {
    say('Nothing runs from this checkout.');
    return;
  }
  const docker = dockerOn(home.docker);
  if ((await findController(docker)) !== undefined) await removeController(docker);
  await removeLeftovers(docker);
  await removeHomeAssistant(docker);
  await removeNetwork(docker);
  rmSync(homeFile);
  say('✓ Llamastead: stopped');
  if (await stopEngineOf(repository, docker)) say('✓ Docker engine: stopped');
}

/** Containers that a controller left behind when it was killed. Only those with this home's owner label. */
async function removeLeftovers(docker: Docker): Promise<void> {
  const owner = ownerOfHome();
  if (owner !== undefined) await removeLabelled(docker, `io.llamastead.owner=${owner}`);
}

const Owned = z.object({ owner: z.uuid() });

/** The uuid that the controller keeps in its state folder. */
function ownerOfHome(): string | undefined {
  if (!existsSync(folders.state)) return undefined;
  for (const name of readdirSync(folders.state)) {
    if (!name.endsWith('.json')) continue;
    const parsed = Owned.safeParse(JSON.parse(readFileSync(join(folders.state, name), 'utf8')));
    if (parsed.success) return parsed.data.owner;
  }
  return undefined;
}
