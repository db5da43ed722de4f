import { cpSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { contentHash } from '../lib/content-hash.ts';
import { buildImage, type Docker, findImage } from '../lib/docker.ts';
import { run } from '../lib/run.ts';
import type { Step } from '../lib/steps.ts';
import { withContext } from './context.ts';

const dockerfile = join(import.meta.dirname, 'node.Dockerfile');

/** The base of Llamastead's image where none can be pulled: Debian, the Node that runs this, the machine's npm. */
export function nodeImageStep(docker: Docker, base: string): Step<string> {
  const npm = npmFolder();
  const npmVersion = readFileSync(join(npm, 'package.json'));
  const name = `llamastead-bench/node:${contentHash([base, process.version, npmVersion, readFileSync(dockerfile)])}`;
  return {
    name: 'Node image',
    advice: 'It copies the npm of this machine: install Node 20 or newer with the npm that comes with it.',
    find: () => findImage(docker, name),
    make: (log) =>
      withContext(async (context) => {
        if (!existsSync(join(npm, 'node_modules'))) throw new Error(`${npm} does not bring its own packages`);
        cpSync(process.execPath, join(context, 'node'));
        cpSync(npm, join(context, 'npm'), { recursive: true });
        const registry = await run('npm', ['config', 'get', 'registry']);
        const args = { BASE: base, REGISTRY: registry };
        return buildImage(docker, { name, dockerfile, context, args }, log);
      }),
  };
}

/** The folder of the npm that the shell finds: its command is a link to bin/npm-cli.js in it. */
function npmFolder(): string {
  const folders = (process.env['PATH'] ?? '').split(':');
  const command = folders.map((folder) => join(folder, 'npm')).find((file) => existsSync(file));
  if (command === undefined) throw new Error('npm is not on the PATH');
  return dirname(dirname(realpathSync(command)));
}
